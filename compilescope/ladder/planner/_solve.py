"""The best ladder of each number of rungs at given prices: pads up to some size, pins and ranges above."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._pads import best_pads, trace_pads
from compilescope.ladder.planner._problem import Prices, Problem
from compilescope.ladder.planner._spans import Span, SpanProblem, best_spans, trace_spans
from compilescope.ladder.rungs import Pad, Pin, Range, Rung

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """``objective`` is running cost of all calls plus the rungs at the prices asked with."""

    ladder: BucketLadder
    objective: float


def solve(problem: Problem, prices: Prices) -> list[Solution]:
    """The best ladder of each number of rungs that can serve all sizes, in ascending order of it.

    Exact for these prices. Empty when no ladder serves all sizes.
    """
    most = problem.limits.max_rungs
    arrays = problem.pad_arrays(prices)
    pads = best_pads(*arrays[:3], most, arrays[3])
    spans = problem.spans(prices)
    with_spans = bool(spans.hints) or problem.limits.pins
    above = best_spans(spans, most) if with_spans else _nothing_above(len(problem.sizes), most)
    joined = _joined(problem, spans, above)
    found = []
    for k in range(1, most + 1):
        objective, top, count = _best_split(pads, joined, k)
        if objective < inf:
            rungs = [
                Pad(int(problem.pads[j - 1]))
                for j in trace_pads(pads, arrays[0], arrays[1], arrays[3], k - count, top)
            ]
            rungs_above = _trace_above(problem, spans, above, top, count) if count else []
            found.append(Solution(BucketLadder((*rungs, *rungs_above)), objective))
    return found


def _nothing_above(sizes: int, most: int) -> Floats:
    above = np.full((sizes + 1, most + 1, 1), inf)
    above[sizes, 0, 0] = 0.0
    return above


def _joined(problem: Problem, spans: SpanProblem, above: Floats) -> Floats:
    """The cost above each top pad (index 0: no pad) per number of artifacts, shape (most + 1, pads + 1)."""
    position = np.concatenate([[0], problem.position])
    reachable = _open_above(problem, spans, above.shape[2])
    return np.asarray((above[position] + reachable[:, None, :]).min(axis=2).T)


def _open_above(problem: Problem, spans: SpanProblem, states: int) -> Floats:
    """0 where a range of that hint may start right above that top pad, else infinity."""
    tops = np.concatenate([[0], problem.pads])
    allowed = np.zeros((len(tops), states))
    for h, hint in enumerate(spans.hints):
        allowed[(tops >= hint) & (hint > 0), h] = inf
    return allowed


def _best_split(pads: Floats, joined: Floats, k: int) -> tuple[float, int, int]:
    """(objective, top pad, artifacts above it) of the best ladder of k rungs."""
    best = (inf, 0, 0)
    for count in range(k + 1):
        total = pads[k - count] + joined[count]
        top = int(np.argmin(total))
        if total[top] < best[0]:
            best = (float(total[top]), top, count)
    return best


def _trace_above(problem: Problem, spans: SpanProblem, above: Floats, top: int, count: int) -> list[Rung]:
    start = int(problem.position[top - 1]) if top else 0
    floor = int(problem.pads[top - 1]) if top else 0
    tops = _open_above(problem, spans, above.shape[2])[top]
    state = int(np.argmin(above[start, count] + tops))
    pinned, ranges = trace_spans(spans, above, start, count, state)
    rungs: list[Rung] = [Pin(int(problem.sizes[i])) for i in pinned]
    for number, span in enumerate(ranges):
        served = np.setdiff1d(np.arange(span.first, span.last + 1), pinned)
        if len(served):
            rungs.append(_range(problem, span, served, floor, number == len(ranges) - 1))
            floor = rungs[-1].high
    return rungs


def _range(problem: Problem, span: Span, served: NDArray[np.intp], floor: int, is_last: bool) -> Range:
    """From right above what lies below to its last size, or as far as its hint needs."""
    sizes, hint = problem.sizes, problem.hints[span.hint]
    high = max(int(sizes[span.last if not is_last else -1]), hint)
    if hint == 0:
        calls = np.cumsum(problem.calls[served])
        hint = int(sizes[served[int(np.searchsorted(calls, calls[-1] / 2))]])
    return Range(floor + 1, high, hint)
