"""Calls by size, in as few bars as a person can look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.serve import AnyLadder, static_sizes
from compilescope.ladder.planner.traffic import Traffic

_MOST_BARS = 20
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bar:
    """Calls with sizes ``low..high``, both included, and the sizes of static rungs among them."""

    low: int
    high: int
    calls: int
    rungs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    symbol: str
    bars: tuple[Bar, ...]


def histograms(traffic: Traffic, ladder: AnyLadder) -> tuple[Histogram, ...]:
    """One per symbol: bars of equal, round width over all sizes and rungs."""
    return tuple(
        Histogram(name, _bars(traffic, axis, _static_sizes(ladder, axis)))
        for axis, name in enumerate(traffic.names)
    )


def _static_sizes(ladder: AnyLadder, axis: int) -> list[int]:
    if isinstance(ladder, BucketLadder):
        return static_sizes(ladder)
    return sorted({rung[axis] for rung in ladder.static_rungs})


def _bars(traffic: Traffic, axis: int, rungs: list[int]) -> tuple[Bar, ...]:
    sizes = traffic.sizes[:, axis]
    lowest, highest = (int(end) for end in (sizes.min(), max(int(sizes.max()), *rungs, 1)))
    width = _round_width((highest - lowest + 1) / _MOST_BARS)
    first = lowest // width
    calls = np.zeros(highest // width - first + 1, np.int64)
    np.add.at(calls, sizes // width - first, traffic.counts)
    return tuple(
        Bar(low, low + width - 1, int(count), tuple(r for r in rungs if low <= r < low + width))
        for low, count in zip(range(first * width, highest + 1, width), calls, strict=True)
    )


def _round_width(least: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    scale = 1
    while True:
        for step in _STEPS:
            if step * scale >= least:
                return step * scale
        scale *= 10
