"""Whether the later half of the traffic is like the earlier one the ladder was planned on."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.traffic import Sizes, Traffic

_CRITICAL_5_PERCENT = 1.358


@dataclass(frozen=True, slots=True)
class Drift:
    """Two-sample Kolmogorov-Smirnov statistic of one symbol.

    That is the largest difference between the shares of calls up to a size, early and late. ``critical`` is
    what two halves of unchanging traffic exceed in 5 % of cases, if calls are independent.
    """

    symbol: str
    statistic: float
    critical: float
    early_median: int
    late_median: int

    @property
    def drifts(self) -> bool:
        return self.statistic > self.critical


def drift(early: Traffic, late: Traffic) -> tuple[Drift, ...]:
    """One per symbol."""
    return tuple(_of(name, early, late) for name in early.names)


def _of(name: str, early: Traffic, late: Traffic) -> Drift:
    sizes = np.unique(np.concatenate([early.column(name), late.column(name)]))
    shares = [_share_up_to(sizes, half.column(name), half.counts) for half in (early, late)]
    calls = (early.calls, late.calls)
    return Drift(
        name,
        float(np.abs(shares[0] - shares[1]).max()),
        _CRITICAL_5_PERCENT * sqrt(sum(calls) / (calls[0] * calls[1])),
        *(int(sizes[np.searchsorted(share, 0.5)]) for share in shares),
    )


def _share_up_to(sizes: Sizes, seen: Sizes, counts: Sizes) -> Floats:
    weight = np.zeros(len(sizes))
    np.add.at(weight, np.searchsorted(sizes, seen), counts)
    return np.asarray(np.cumsum(weight) / weight.sum())
