"""The best pads for one of two symbols while the ladder of the other stands.

With the first symbol's rungs fixed, its calls fall into groups g. Padding all calls whose second size lies
above rung i and up to rung j of the second ladder costs the sum over g of (W[g, j] - W[g, i]) * c[g, j]:
one matrix product gives it for all pairs, and the same recurrence as for one symbol finds the best rungs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.traffic import Sizes

MOST_CANDIDATES = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Calls by both sizes: ``calls[a, b]`` of them have sizes ``sizes[0][a]`` and ``sizes[1][b]``.

    ``tried[axis]`` are the sizes worth trying as rungs, ascending; ``is_whole`` is False when some were
    left out because there are too many. The last is never left out, so that all sizes can be served.
    """

    sizes: tuple[Sizes, Sizes]
    calls: Floats
    costs: Costs
    tried: tuple[Sizes, Sizes]
    is_whole: bool

    @classmethod
    def of(cls, rows: Sizes, counts: Floats, costs: Costs, align: int, maximum: int | None) -> Table:
        """``align`` and ``maximum`` hold for the second symbol; the first is a count, such as a batch."""
        first, a = np.unique(rows[:, 0], return_inverse=True)
        second, b = np.unique(rows[:, 1], return_inverse=True)
        if maximum is not None and maximum > second[-1]:
            second = np.append(second, maximum)
        calls = np.zeros((len(first), len(second)))
        np.add.at(calls, (a, b), counts)
        rungs = (first, np.unique(-(-second // align) * align))
        kept = (_thinned(rungs[0]), _thinned(rungs[1]))
        is_whole = kept[0] is rungs[0] and kept[1] is rungs[1]
        return cls((first, second), calls, costs, kept, is_whole)

    def turned(self) -> Table:
        """The same with the symbols exchanged; ``cost`` still knows their order."""
        return _Turned(self.sizes[::-1], self.calls.T, self.costs, self.tried[::-1], self.is_whole)

    def cost(self, first: Sizes, second: Sizes) -> Floats:
        """The cost of a call at each pair, shape (first, second)."""
        pairs = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
        return self.costs.static.at(pairs).reshape(len(first), len(second))

    def second_ladders(self, first: Sizes, most: int) -> list[tuple[float, Sizes]]:
        """For 1, 2, ... ``most`` rungs of the second symbol: the cost of all calls, and the rungs."""
        groups = np.searchsorted(first, self.sizes[0])
        grouped = np.zeros((len(first), len(self.sizes[1])))
        np.add.at(grouped, groups, self.calls)
        rungs = self.tried[1]
        total = np.concatenate([np.zeros((len(first), 1)), np.cumsum(grouped, axis=1)], axis=1)
        calls = total[:, np.concatenate([[0], np.searchsorted(self.sizes[1], rungs, side="right")])]
        cost = np.concatenate([np.zeros((len(first), 1)), self.cost(first, rungs)], axis=1)
        step = (calls * cost).sum(axis=0)[None, :] - calls.T @ cost
        step[np.tril_indices(len(rungs) + 1)] = inf
        return _ladders(step, rungs, min(most, len(rungs)))


class _Turned(Table):
    __slots__ = ()

    def cost(self, first: Sizes, second: Sizes) -> Floats:
        pairs = np.stack(np.meshgrid(second, first, indexing="ij"), axis=-1).reshape(-1, 2)
        return self.costs.static.at(pairs).reshape(len(second), len(first)).T


def _ladders(step: Floats, rungs: Sizes, most: int) -> list[tuple[float, Sizes]]:
    best = [np.where(np.arange(len(step)) == 0, 0.0, inf)]
    came: list[NDArray[np.intp]] = []
    found = []
    by_end, reached, ends = np.ascontiguousarray(step.T), np.empty_like(step), np.arange(len(step))
    for _ in range(most):
        np.add(by_end, best[-1], out=reached)
        came.append(np.argmin(reached, axis=1))
        best.append(reached[ends, came[-1]])
        path, at = [], len(step) - 1
        for before in came[::-1]:
            path.append(at)
            at = int(before[at])
        if best[-1][-1] < inf:
            found.append((float(best[-1][-1]), rungs[np.array(path[::-1]) - 1]))
    return found


def _thinned(rungs: Sizes) -> Sizes:
    if len(rungs) <= MOST_CANDIDATES:
        return rungs
    kept = np.linspace(0, len(rungs) - 1, MOST_CANDIDATES).round().astype(np.intp)
    return rungs[kept]
