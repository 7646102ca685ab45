"""Sets of padded combinations of two symbols, and whether they or a product serve other calls better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._product import Table
from compilescope.ladder.planner._sets import Chosen, Grid, blurred, quick_set, sets
from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.plan import Choice, cheapest
from compilescope.ladder.planner.serve import chosen_pads, running_cost
from compilescope.ladder.planner.traffic import Sizes, Traffic, drawn

Rate = Callable[[JointLadder], Choice]
Blur = tuple[float, int]

_MOST_CELLS = 8192
_FEWEST_ON_AN_AXIS = 64
_BLURS: tuple[Blur, ...] = (
    (0.0, 1),
    (0.3, 32),
)  # share of the calls that is spread, and one what part of the sizes away
_FEWEST_CALLS = 16  # fewer say nothing about calls that were not planned for
_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class SetProblem:
    """``rows`` distinct and ascending, ``counts`` of each: all that planning looks at."""

    names: tuple[str, str]
    rows: Sizes
    counts: Floats
    costs: Costs
    limits: Limits
    table: Table

    @classmethod
    def of(cls, traffic: Traffic, costs: Costs, limits: Limits) -> SetProblem:
        rows, counts = traffic.distinct()
        names = (traffic.names[0], traffic.names[1])
        weights = counts.astype(float)
        table = Table.of(rows, weights, costs, limits.align, limits.maximum)
        return cls(names, rows, weights, costs, limits, table)

    def with_counts(self, counts: Floats) -> SetProblem:
        limits, costs = self.limits, self.costs
        table = Table.of(self.rows, counts, costs, limits.align, limits.maximum)
        return SetProblem(self.names, self.rows, counts, costs, limits, table)

    def cost(self, ladder: JointLadder) -> float:
        return float(running_cost(ladder, self.rows, self.costs) @ self.counts)

    def grid(self) -> Grid:
        first = _thinned(self.table.tried[0], _FEWEST_ON_AN_AXIS)
        second = _thinned(self.table.tried[1], max(_MOST_CELLS // len(first), _FEWEST_ON_AN_AXIS))
        first = _thinned(self.table.tried[0], max(_MOST_CELLS // len(second), _FEWEST_ON_AN_AXIS))
        calls = np.zeros((len(first), len(second)))
        cells = (np.searchsorted(first, self.rows[:, 0]), np.searchsorted(second, self.rows[:, 1]))
        np.add.at(calls, cells, self.counts)
        return Grid.of((first, second), calls, self.table.cost(first, second))


Half = tuple[SetProblem, SetProblem]


def best_form(
    problem: SetProblem, products: Sequence[JointLadder], rate: Rate
) -> tuple[list[Choice], Choice]:
    """Ladders of all numbers of rungs, of the form that costs less, and the best one of the other form.

    A set must cost less for the calls planned for, and for others: both forms are planned again on either
    half of the calls, drawn at random, and compared on the other one. So are sets whose calls were blurred
    before, which leaves room for sizes that have not come yet.
    """
    halves, most = list(_halves(problem)), problem.limits.max_rungs
    elsewhere = [_elsewhere(halves, partial(_set_of, most=most, blur=blur)) for blur in _BLURS]
    blur = _BLURS[int(np.argmin(elsewhere))]
    found = [_ladder(problem, each, blur) for each in sets(blurred(problem.grid(), *blur), most)]
    of_products, of_sets = by_rungs(map(rate, products)), by_rungs(map(rate, found))
    product, best = cheapest(of_products), cheapest(of_sets)
    if best.total < product.total and (not halves or _is_less_elsewhere(best, product, halves, blur)):
        return by_rungs([*of_products, *of_sets]), product
    return of_products, best


def by_rungs(choices: Iterable[Choice]) -> list[Choice]:
    """The best of each number of rungs, ascending; of equal ones the first."""
    best: dict[int, Choice] = {}
    for choice in choices:
        if choice.rungs not in best or choice.total < best[choice.rungs].total:
            best[choice.rungs] = choice
    return [best[count] for count in sorted(best)]


def _is_less_elsewhere(chosen: Choice, product: Choice, halves: Sequence[Half], blur: Blur) -> bool:
    """Whether such sets cost less than such products on calls that neither was planned on, rungs included."""
    of_sets = _elsewhere(halves, partial(_set_of, most=chosen.rungs, blur=blur)) + chosen.price
    return of_sets < _elsewhere(halves, partial(_product_like, choice=product)) + product.price


def _elsewhere(halves: Sequence[Half], plan: Callable[[SetProblem], JointLadder]) -> float:
    """What a call costs with what was planned for the other half of them; 0 where there are no halves."""
    cost = sum(other.cost(plan(half)) for half, other in halves)
    return cost / max(sum(float(other.counts.sum()) for _, other in halves), 1.0)


def _halves(problem: SetProblem) -> Iterator[Half]:
    """Each half of the calls and the other; drawn from counts, so that the order of calls changes nothing."""
    counts = problem.counts.astype(np.int64)
    calls = int(counts.sum())
    if calls >= _FEWEST_CALLS:
        half = drawn(counts, calls // 2)
        one, other = (problem.with_counts(each.astype(float)) for each in (half, counts - half))
        yield one, other
        yield other, one


def _set_of(problem: SetProblem, most: int, blur: Blur) -> JointLadder:
    return _ladder(problem, quick_set(blurred(problem.grid(), *blur), most), blur)


def _product_like(problem: SetProblem, choice: Choice) -> JointLadder:
    """A product of as many rungs of each symbol, for these calls."""
    product = choice.ladder
    assert isinstance(product, JointLadder)
    assert product.pads is not None
    counts = [len(ladder) for ladder in product.pads]
    first = np.array([pad.size for pad in product.pads[0].pad_rungs], np.int64)
    turned = problem.table.turned()
    least = np.inf
    for _ in range(_ROUNDS):
        _, second = problem.table.second_ladders(first, counts[1])[-1]
        cost, first = turned.second_ladders(second, counts[0])[-1]
        if cost >= least:
            break
        least = cost
    pads = (BucketLadder.pads(first.tolist()), BucketLadder.pads(second.tolist()))
    return JointLadder(problem.names, pads)


def _ladder(problem: SetProblem, chosen: Chosen, blur: Blur) -> JointLadder:
    first, second = chosen.grid.sizes
    pairs = [(int(first[i]), int(second[j])) for i, j in chosen.cells]
    ladder = JointLadder(problem.names, combinations=tuple(pairs))
    return ladder if blur[0] else _tightened(problem, ladder)


def _tightened(problem: SetProblem, ladder: JointLadder) -> JointLadder:
    """Each combination no larger than what it serves, but for the one that holds everything."""
    best, least = ladder, problem.cost(ladder)
    for _ in range(_ROUNDS):
        tighter = _tighter(problem, best)
        cost = problem.cost(tighter)
        if cost > least or tighter == best:
            break
        best, least = tighter, cost
    return best


def _tighter(problem: SetProblem, ladder: JointLadder) -> JointLadder:
    came = problem.counts > 0
    rows = problem.rows[came]
    served = chosen_pads(ladder, rows)
    top = ladder.combinations[-1]
    kept = {top}
    for number, pair in enumerate(ladder.combinations):
        mine = rows[served == number]
        if len(mine) and pair != top:
            first, second = (int(size) for size in mine.max(axis=0))
            kept.add((first, -(-second // problem.limits.align) * problem.limits.align))
    return JointLadder(ladder.names, combinations=tuple(kept))


def _thinned(sizes: Sizes, most: int) -> Sizes:
    if len(sizes) <= most:
        return sizes
    return sizes[np.unique(np.linspace(0, len(sizes) - 1, most).round().astype(np.intp))]
