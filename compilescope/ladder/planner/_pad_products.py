"""Products of two ladders of pads: all of them where that can be, else improved one ladder at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._product import Table
from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.traffic import Sizes, Traffic

MOST_ENUMERATED = 600
_ROUNDS = 12


def pad_products(traffic: Traffic, costs: Costs, limits: Limits) -> tuple[list[JointLadder], bool]:
    """Candidates of all numbers of rungs, and whether the best product is among them for certain."""
    rows, counts = traffic.distinct()
    table = Table.of(rows, counts.astype(float), costs, limits.align, limits.maximum)
    highest = limits.largest
    if highest is not None and table.tried[1][-1] > highest:
        raise PlanError(f"size {table.sizes[1][-1]} does not fit below the largest pad allowed, {highest}")
    if limits.max_padding is not None:
        raise PlanError("a limit on padding is planned for one symbol only")
    names = (traffic.names[0], traffic.names[1])
    if _ladders_of(len(table.tried[0]), limits.max_rungs) <= MOST_ENUMERATED:
        pairs, is_exact = list(_all(table, limits.max_rungs)), table.is_whole
    elif _ladders_of(len(table.tried[1]), limits.max_rungs) <= MOST_ENUMERATED:
        pairs = [(a, b) for b, a in _all(table.turned(), limits.max_rungs)]
        is_exact = table.is_whole
    else:
        pairs, is_exact = list(_improved(table, limits.max_rungs)), False
    return [JointLadder(names, (_pads(a), _pads(b))) for a, b in pairs], is_exact


def _ladders_of(sizes: int, most: int) -> int:
    """How many ladders of at most ``most`` rungs serve all of so many sizes: the top one is given."""
    return sum(comb(sizes - 1, rungs - 1) for rungs in range(1, min(sizes, most) + 1))


def _all(table: Table, budget: int) -> Iterator[tuple[Sizes, Sizes]]:
    """Every ladder of the first symbol with the best of the second, the best product of each two counts."""
    sizes = table.tried[0]
    for rungs in range(1, min(len(sizes), budget) + 1):
        best: dict[int, tuple[float, Sizes, Sizes]] = {}
        for lower in combinations(sizes[:-1].tolist(), rungs - 1):
            first = np.array([*lower, sizes[-1]], np.int64)
            for cost, second in table.second_ladders(first, budget // rungs):
                if len(second) not in best or cost < best[len(second)][0]:
                    best[len(second)] = (cost, first, second)
        yield from ((first, second) for _, first, second in best.values())


def _improved(table: Table, budget: int) -> Iterator[tuple[Sizes, Sizes]]:
    """For each shape of the product, one ladder after the other is made best until neither changes."""
    turned = table.turned()
    for rungs in range(1, min(len(table.tried[0]), budget) + 1):
        for start in _starts(table, rungs):
            first, last = start, np.inf
            for _ in range(_ROUNDS):
                _, second = table.second_ladders(first, budget // rungs)[-1]
                cost, first = turned.second_ladders(second, rungs)[-1]
                yield first, second
                if cost >= last:
                    break
                last = cost
            yield from ((first, second) for _, second in table.second_ladders(first, budget // rungs))


def _starts(table: Table, rungs: int) -> Iterator[Sizes]:
    """Even steps by number of calls and by size."""
    sizes, tried = table.sizes[0], table.tried[0]
    share = np.cumsum(table.calls.sum(axis=1)) / table.calls.sum()
    by_calls = sizes[np.searchsorted(share, np.arange(1, rungs) / rungs)]
    by_size = np.linspace(0, tried[-1], rungs + 1)[1:-1]
    for wanted in (by_calls, by_size):
        up = tried[np.minimum(np.searchsorted(tried, wanted), len(tried) - 1)]
        yield np.unique(np.append(up, tried[-1]))


def _pads(sizes: Sizes) -> BucketLadder:
    return BucketLadder.pads(sizes.tolist())
