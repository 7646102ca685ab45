"""A set of combinations of two sizes, chosen freely: greedy, then one exchanged for another while that helps.

Calls lie in the cells of a grid of candidate sizes; a combination holds the cells up to its own. Which of
the chosen ones serves a cell is the dispatch's rule (:meth:`JointLadder.padded_to`), not the cheapest. What
one more combination would change is known for all cells at once: of the calls that each chosen one serves,
sums over the rectangles below every cell tell how many would move, and at what difference in cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.traffic import Sizes

Cell = tuple[int, int]
_LEAST_GAIN = 1e-6  # of the cost of all calls: what an exchange must save
_EXCHANGED_UP_TO = 16  # combinations up to which each number of them is improved
_MOST_EXCHANGED = 128  # and up to which the last one is


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Cells whose sizes are 1 or more in the same symbols; ``order`` says who comes first to serve them.

    ``reach`` are the combinations that hold some of its cells.
    """

    cells: tuple[slice, slice]
    reach: tuple[slice, slice]
    order: Sizes


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """``calls[i, j]`` have sizes above the next lower candidates and up to ``sizes[0][i]``, ``sizes[1][j]``;
    ``cost[i, j]`` is that of a call served at those sizes.
    """

    sizes: tuple[Sizes, Sizes]
    calls: Floats
    cost: Floats
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, sizes: tuple[Sizes, Sizes], calls: Floats, cost: Floats) -> Grid:
        return cls(sizes, calls, cost, tuple(_blocks(sizes)))

    def with_calls(self, calls: Floats) -> Grid:
        return Grid(self.sizes, calls, self.cost, self.blocks)

    @property
    def top(self) -> Cell:
        """The combination that holds everything, which every set has."""
        return self.calls.shape[0] - 1, self.calls.shape[1] - 1

    def servers(self, chosen: Sequence[Cell]) -> Sizes:
        """The place in the flattened grid of the combination that serves each cell."""
        width = self.calls.shape[1]
        found = np.zeros(self.calls.shape, np.int64)
        for block in self.blocks:
            rows, columns = block.cells
            inside = found[block.cells]
            # The first to serve writes last.
            for i, j in sorted(chosen, key=block.order.__getitem__, reverse=True):
                inside[: max(i + 1 - rows.start, 0), : max(j + 1 - columns.start, 0)] = i * width + j
        return found

    def change(self, cell: Cell, calls: Floats) -> Floats:
        """By how much the cost of ``calls``, which ``cell`` serves, changes with one more at each cell."""
        found = np.zeros(self.calls.shape)
        for block in self.blocks:
            served = calls[block.cells]
            if served.any():
                below = served.cumsum(axis=0).cumsum(axis=1)
                comes_first = block.order[block.reach] < block.order[cell]
                found[block.reach] += comes_first * below * (self.cost[block.reach] - self.cost[cell])
        return found


def _blocks(sizes: tuple[Sizes, Sizes]) -> Iterator[Block]:
    """Torch makes a size of 1 a constant, so that a combination with that 1 comes before all others."""
    shape = (len(sizes[0]), len(sizes[1]))
    first, second = (axis.ravel() for axis in np.meshgrid(*sizes, indexing="ij"))
    order = np.empty(len(first), np.int64)
    order[np.lexsort((second, first, first * second))] = np.arange(len(first))
    ones = [int(axis[0] == 1 and len(axis) > 1) for axis in sizes]
    for is_one_in_first in range(1 + ones[0]):
        for is_one_in_second in range(1 + ones[1]):
            flags = (is_one_in_first, is_one_in_second)
            cells = [slice(0, 1) if f else slice(o, n) for f, o, n in zip(flags, ones, shape, strict=True)]
            missed = np.add.outer(
                is_one_in_first * (np.arange(shape[0]) > 0), is_one_in_second * (np.arange(shape[1]) > 0)
            )
            reach = [slice(each.start, n) for each, n in zip(cells, shape, strict=True)]
            yield Block(
                (cells[0], cells[1]), (reach[0], reach[1]), order.reshape(shape) + missed * len(order)
            )


class Chosen:
    """Some combinations, what they cost, and what one more would change. ``like``: others, to save work."""

    def __init__(self, grid: Grid, cells: tuple[Cell, ...], like: Chosen | None = None) -> None:
        self.grid, self.cells = grid, cells
        self._servers = grid.servers(cells)
        self.cost = float((grid.calls * grid.cost.ravel()[self._servers]).sum())
        places = {i * grid.calls.shape[1] + j: (i, j) for i, j in cells}
        self._changes: dict[int, Floats] = {} if like is None else dict(like._changes)
        self._change: Floats = np.zeros(grid.calls.shape) if like is None else like._change.copy()
        for place in sorted(set(places) if like is None else self._touched(like)):
            if place in self._changes:
                self._change -= self._changes.pop(place)
            if place in places:
                served = np.where(self._servers == place, grid.calls, 0.0)
                self._changes[place] = grid.change(places[place], served)
                self._change += self._changes[place]

    def _touched(self, like: Chosen) -> set[int]:
        """Those of either that serve other cells than before."""
        differs = self._servers != like._servers
        before, now = np.unique(like._servers[differs]), np.unique(self._servers[differs])
        removed = like._changes.keys() - {i * self.grid.calls.shape[1] + j for i, j in self.cells}
        return {*before.tolist(), *now.tolist(), *removed}

    def best_addition(self) -> tuple[Cell, float]:
        """The combination that saves most, and the change of the cost."""
        place = int(self._change.argmin())
        cell = divmod(place, self.grid.calls.shape[1])
        return cell, float(self._change.ravel()[place])

    def with_one_more(self, cell: Cell) -> Chosen:
        return Chosen(self.grid, (*self.cells, cell), self)

    def without(self, cell: Cell) -> Chosen:
        return Chosen(self.grid, tuple(each for each in self.cells if each != cell), self)

    def with_one_fewer(self) -> Chosen:
        """Without the one that is missed least."""
        return min((self.without(cell) for cell in self.cells[1:]), key=lambda each: each.cost)

    def improved(self) -> Chosen:
        """One combination after the other is exchanged for the best there is, until none gains."""
        best, is_new = self, True
        while is_new:
            is_new = False
            for cell in best.cells[1:]:  # the first one holds everything
                fewer = best.without(cell)
                other, change = fewer.best_addition()
                if fewer.cost + change < best.cost * (1 - _LEAST_GAIN):
                    best, is_new = fewer.with_one_more(other), True
        return best


def sets(grid: Grid, most: int) -> list[Chosen]:
    """A set of each number of combinations up to ``most``, as long as one more saves something.

    Up to ``_EXCHANGED_UP_TO`` each is made from the one of one fewer and from the one of one more, and
    improved; beyond it they are what one addition after the other makes, and only the last is improved.
    """
    found = list(_grown(grid, most, _EXCHANGED_UP_TO))
    if len(found) <= _MOST_EXCHANGED:
        found[-1] = found[-1].improved()
    few = min(len(found), _EXCHANGED_UP_TO)
    for number in range(min(few, len(found) - 1) - 1, 0, -1):
        found[number] = _cheaper(found[number], found[number + 1].with_one_fewer().improved())
    for number in range(1, few):
        more = found[number - 1].with_one_more(found[number - 1].best_addition()[0])
        found[number] = _cheaper(found[number], more.improved())
    return found


def quick_set(grid: Grid, most: int) -> Chosen:
    """Of that many combinations, or fewer where no more of them save anything."""
    *_, last = _grown(grid, most, 0)
    return last.improved() if len(last.cells) <= _EXCHANGED_UP_TO else last


def _grown(grid: Grid, most: int, exchanged_up_to: int) -> Iterator[Chosen]:
    chosen = Chosen(grid, (grid.top,))
    yield chosen
    while len(chosen.cells) < most:
        cell, change = chosen.best_addition()
        if change >= -(_LEAST_GAIN**2) * chosen.cost:
            return
        chosen = chosen.with_one_more(cell)
        if len(chosen.cells) <= exchanged_up_to:
            chosen = chosen.improved()
        yield chosen


def _cheaper(one: Chosen, other: Chosen) -> Chosen:
    return other if other.cost < one.cost and len(other.cells) == len(one.cells) else one


def blurred(grid: Grid, share: float, part: int) -> Grid:
    """``share`` of the calls spread over cells nearby, up to one ``part`` of the candidates away.

    Sizes that come later are near those that came, and not the same. A size of 1 stays one: it is a step of
    decoding, or a batch of one, and no short sequence.
    """
    if share == 0:
        return grid
    calls = grid.calls.copy()
    for block in grid.blocks:
        inside = grid.calls[block.cells]
        spread = inside
        for axis in (0, 1):
            spread = _boxed(spread, inside.shape[axis] // part, axis)
        if spread.any():
            calls[block.cells] = (1 - share) * inside + share * spread * (inside.sum() / spread.sum())
    return grid.with_calls(calls)


def _boxed(values: Floats, half: int, axis: int) -> Floats:
    """The mean of each value and ``half`` neighbors on both sides."""
    if half == 0:
        return values
    kernel = np.full(2 * half + 1, 1 / (2 * half + 1))
    return np.apply_along_axis(np.convolve, axis, values, kernel, mode="same")
