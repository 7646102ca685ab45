"""The best pins and ranges above every possible top pad, exactly, for every number of them.

Sizes are taken from the largest down. The state is the range open at a size (or none), because where one
range ends and a lower one begins both must contain the hint they are tuned at. ``best[i, q, h]`` is the cost
of serving sizes i and up with q artifacts, range h being open at size i; h = number of hints means none.

For each size: stay in the open range; open a range there (closing the one above); pin the size inside the
open range, or outside any; pin it and open a range around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SpanProblem:
    """``ranged`` has shape (hints, sizes): all calls of a size through the dynamic artifact of a hint.

    ``pinned`` has shape (sizes,): the same through a pin, its price included; infinite where not allowed.
    Hints ascend; a hint of 0 is not known and binds nothing.
    """

    sizes: NDArray[np.int64]
    pinned: Floats
    ranged: Floats
    range_price: Floats
    hints: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One range, as indices into the sizes, both included, and the index of its hint."""

    first: int
    last: int
    hint: int


def best_spans(problem: SpanProblem, most: int) -> Floats:
    """``best`` as above, shape (sizes + 1, most + 1, hints + 1)."""
    sizes, hints = len(problem.sizes), len(problem.hints)
    best = np.full((sizes + 1, most + 1, hints + 1), inf)
    best[sizes, 0, hints] = 0.0
    for i in range(sizes - 1, -1, -1):
        after, here = best[i + 1], best[i]
        ranged, pinned = problem.ranged[:, i], problem.pinned[i]
        if hints:
            opened = np.full((most + 1, hints), inf)
            closed = (after[:-1, None, :] + _may_open(problem, i)).min(axis=2)
            opened[1:] = closed + problem.range_price
            here[:, :hints] = np.minimum(after[:, :hints], opened) + ranged
            if pinned < inf:
                here[1:, :hints] = np.minimum(here[1:, :hints], opened[:-1] + pinned)
        if pinned < inf:
            here[1:] = np.minimum(here[1:], after[:-1] + pinned)
    return best


def trace_spans(
    problem: SpanProblem, best: Floats, start: int, artifacts: int, state: int
) -> tuple[list[int], list[Span]]:
    """Indices of the pinned sizes, ascending, and the ranges behind ``best[start, artifacts, state]``."""
    pins, spans, none = [], [], len(problem.hints)
    i = first = start
    q, h = artifacts, state
    while i < len(problem.sizes):
        if h < none:
            i = _end_of_stay(problem, best, i, q, h)
        _, pin, opens, above = min(_ways(problem, best, i, q, h), key=lambda way: way[0])
        pins += [i] if pin else []
        q -= pin + opens
        if opens:
            spans.append(Span(first, i, h))
            h = above
        i += 1
        if opens or h == none:
            first = i
    return pins, spans


def _end_of_stay(problem: SpanProblem, best: Floats, i: int, q: int, h: int) -> int:
    """The first size from i up at which something other than staying in the open range is better."""
    stays = best[i + 1 :, q, h] + problem.ranged[h, i:] <= best[i:-1, q, h]
    return i + int(np.argmin(stays))


def _ways(
    problem: SpanProblem, best: Floats, i: int, q: int, h: int
) -> Iterator[tuple[float, bool, bool, int]]:
    """(cost, pinned?, is the range opened here?, state above) of each way to serve size i from this state."""
    after, none = best[i + 1], len(problem.hints)
    if h < none:
        yield float(after[q, h] + problem.ranged[h, i]), False, False, h
        may = _may_open(problem, i)[h]
        for pin in (False, True):
            if q - 1 - pin >= 0:
                above = after[q - 1 - pin] + may
                g = int(np.argmin(above))
                serve = problem.pinned[i] if pin else problem.ranged[h, i]
                yield float(above[g] + problem.range_price[h] + serve), pin, True, g
    if q >= 1:
        yield float(after[q - 1, h] + problem.pinned[i]), True, False, h


def _may_open(problem: SpanProblem, i: int) -> Floats:
    """0 where range h may open at size i below range g, else infinity; shape (hints, hints + 1)."""
    hints = len(problem.hints)
    allowed = np.full((hints, hints + 1), inf)
    allowed[:, hints] = 0.0
    if hints > 1 and i + 1 < len(problem.sizes):
        hint = np.array(problem.hints)
        below, above = hint < problem.sizes[i + 1], hint > problem.sizes[i]
        allowed[:, :hints][below[:, None] & above[None, :] & (hint[:, None] < hint[None, :])] = 0.0
    return allowed
