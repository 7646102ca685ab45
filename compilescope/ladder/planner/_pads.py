"""The best pads, exactly, for every number of them and every top rung.

Sizes up to a rung and above the rung below it are padded to it. With the rungs in ascending order, W[j] the
calls of all sizes up to rung j, c[j] the cost of a call at rung j and p[j] its price:

    best[k][j] = p[j] + min over i < j of  best[k - 1][i] + (W[j] - W[i]) * c[j]

Index 0 stands for "no rung below". The minimum is over lines in c[j] whose slopes -W[i] come in falling
order, hence a convex hull that is only ever changed at its end, and asked by bisection. That holds
whatever c is: a curve that falls again at multiples of a tile needs no special case. A ladder in which a
lower rung costs more than a higher one is never better than the same without it, so that "the smallest rung
that holds a size" and "the cheapest rung that holds a size" have the same optimum.

A limit on padding forbids lines at the other end too, but where the best of all lines is allowed it is the
best of the allowed ones. Only where it is not, each allowed line is tried.
"""

from __future__ import annotations

from bisect import bisect_left
from math import inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def best_pads(calls: Floats, cost: Floats, price: Floats, most: int, lowest: Indices | None) -> Floats:
    """``best[k][j]`` as above, shape (most + 1, rungs + 1); infinite where there is no such ladder.

    Arrays have index 0 for "no rung" (0 calls). ``lowest[j]`` is the first i that rung j may follow,
    None where each may.
    """
    best = np.full((most + 1, len(calls)), inf)
    best[0, 0] = 0.0
    for k in range(1, most + 1):
        best[k], chosen = _hull_layer(best[k - 1], calls, cost)
        if lowest is not None:
            _keep_allowed(best[k], chosen, best[k - 1], calls, cost, lowest)
        best[k] += price
    return best


def trace_pads(
    best: Floats, calls: Floats, cost: Floats, lowest: Indices | None, k: int, top: int
) -> list[int]:
    """The rungs (indices, ascending) of the ladder behind ``best[k][top]``."""
    rungs = []
    while top > 0:
        rungs.append(top)
        first = 0 if lowest is None else int(lowest[top])
        below = best[k - 1, first:top] + (calls[top] - calls[first:top]) * cost[top]
        k, top = k - 1, first + int(np.argmin(below))
    return rungs[::-1]


def _hull_layer(previous: Floats, calls: Floats, cost: Floats) -> tuple[Floats, Indices]:
    """The least over all lines, and which line that is (0 where there is none).

    Plain lists and one loop: this is where a large plan spends its time.
    """
    before, total, costs = previous.tolist(), calls.tolist(), cost.tolist()
    result, chosen = [inf], [0]
    slopes: list[float] = []  # calls below each line of the hull, rising
    starts: list[float] = []  # what each line costs at c = 0
    bends: list[float] = []  # where each line gives way to the next
    lines: list[int] = []  # which i each is
    for j in range(1, len(before)):
        if before[j - 1] < inf:
            _add_line(slopes, starts, bends, lines, total[j - 1], before[j - 1], j - 1)
        if not slopes:
            result.append(inf)
            chosen.append(0)
            continue
        line = bisect_left(bends, costs[j])
        result.append(starts[line] + (total[j] - slopes[line]) * costs[j])
        chosen.append(lines[line])
    return np.array(result), np.array(chosen, np.intp)


def _add_line(
    slopes: list[float],
    starts: list[float],
    bends: list[float],
    lines: list[int],
    slope: float,
    start: float,
    number: int,
) -> None:
    """Add a line at the end of the hull, and drop the lines it covers."""
    while slopes:
        gain = slope - slopes[-1]
        if gain > 0:
            bend = (start - starts[-1]) / gain
            if not bends or bend > bends[-1]:
                bends.append(bend)
                break
        elif start >= starts[-1]:
            return
        slopes.pop()
        starts.pop()
        lines.pop()
        if bends:
            bends.pop()
    slopes.append(slope)
    starts.append(start)
    lines.append(number)


def _keep_allowed(
    result: Floats, chosen: Indices, previous: Floats, calls: Floats, cost: Floats, lowest: Indices
) -> None:
    """Replace what comes from a line that is not allowed by the best of those that are."""
    result[lowest >= np.arange(len(result))] = inf
    finite = np.flatnonzero(previous < inf)
    last = int(finite[-1]) if len(finite) else -1
    for j in np.flatnonzero((chosen < lowest) & (result < inf)).tolist():
        first, after = int(lowest[j]), min(j, last + 1)
        result[j] = inf
        if first < after:
            result[j] = (previous[first:after] + (calls[j] - calls[first:after]) * cost[j]).min()
