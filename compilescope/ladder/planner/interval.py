"""How sure a gain is: bootstrap over blocks of calls, because neighbors in time are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.traffic import Traffic

_SEED = 0
_DRAWS = 1000
_FEWEST_INTERVALS = 8  # fewer say nothing about how alike neighbors are


@dataclass(frozen=True, slots=True)
class Gain:
    """The share of the other's cost that is saved (0.1: 10 % less), and its 95 % interval."""

    share: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """The interval does not hold zero."""
        return self.low > 0 or self.high < 0


def gain_over(cost: Floats, other: Floats, traffic: Traffic) -> Gain:
    """``cost`` and ``other`` per row of the traffic. Equal arguments give equal intervals: the seed is fixed.

    Rows in order of time (or the intervals they were counted in) are drawn in circular blocks of the cube
    root of their number; where the order is unknown, or there are few intervals, single calls are drawn.
    """
    both = np.stack([cost, other]) * traffic.counts
    ours, theirs = both.sum(axis=1)
    starts = _starts(traffic)
    if traffic.ordered and len(starts) >= (1 if traffic.moments is None else _FEWEST_INTERVALS):
        draws = _blocks(np.add.reduceat(both, starts, axis=1))
    else:
        draws = _singles(np.stack([cost, other]), traffic)
    low, high = np.quantile(1 - draws[0] / draws[1], [0.025, 0.975])
    return Gain(float(1 - ours / theirs), float(low), float(high))


def _starts(traffic: Traffic) -> NDArray[np.intp]:
    """First row of each interval of time; each row where the order is that of the rows."""
    if traffic.moments is None:
        return np.arange(len(traffic.counts))
    return np.flatnonzero(np.diff(traffic.moments, prepend=traffic.moments[0] - 1))


def _blocks(both: Floats) -> Floats:
    """Sums over one resampled sequence per column, shape (2, draws)."""
    rows = both.shape[1]
    length = max(1, round(rows ** (1 / 3)))
    around = np.concatenate([np.zeros((2, 1)), np.cumsum(np.tile(both, 2), axis=1)], axis=1)
    sums = around[:, length : length + rows] - around[:, :rows]
    draw = np.random.default_rng(_SEED)
    total = np.zeros((2, _DRAWS))
    for _ in range(-(-rows // length)):
        total += sums[:, draw.integers(0, rows, _DRAWS)]
    return total


def _singles(both: Floats, traffic: Traffic) -> Floats:
    draw = np.random.default_rng(_SEED)
    share = traffic.counts / traffic.calls
    calls = min(traffic.calls, 10**9)
    return np.stack([both @ draw.multinomial(calls, share) for _ in range(_DRAWS)], axis=1)
