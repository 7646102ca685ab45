"""What one call costs at each size: measured points, and what lies between and beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner._fit import fit_relative
from compilescope.ladder.planner.errors import CostError

Kind = Literal["measured", "fitted", "assumed"]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One measurement: the cost of a call at ``size`` and the interval it was found in, same unit."""

    size: int
    cost: float
    low: float
    high: float

    @classmethod
    def of(cls, size: int, cost: float, low: float | None = None, high: float | None = None) -> CostPoint:
        return cls(size, cost, cost if low is None else low, cost if high is None else high)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise CostError(f"a cost was measured at size {self.size}; sizes start at 1")
        if not (0 < self.low <= self.cost <= self.high and math.isfinite(self.high)):
            raise CostError(
                f"size {self.size}: cost {self.cost} must lie above 0 and in {self.low}..{self.high}"
            )


@dataclass(frozen=True, slots=True)
class Curve:
    """Cost over size, not necessarily rising.

    A measured curve is linear between its points, flat below the first, and goes on with its last slope
    above the last; ``is_measured`` and ``is_inside`` tell which is which. A fitted one is the straight line
    ``base + slope * size`` and ``fit_error`` the largest relative distance of a point from it. An assumed
    one has no points at all. Raises CostError for no points and for two at one size.
    """

    points: tuple[CostPoint, ...]
    kind: Kind = "measured"
    base: float = 0.0
    slope: float = 0.0
    fit_error: float | None = None

    @classmethod
    def measured(cls, points: Iterable[CostPoint]) -> Curve:
        return cls(tuple(sorted(points, key=lambda point: point.size)))

    @classmethod
    def fitted(cls, points: Iterable[CostPoint]) -> Curve:
        """The line nearest to the points in relative terms that neither falls nor goes below zero."""
        ordered = cls.measured(points)
        sizes, costs = ordered._sizes(), ordered._costs()
        (base, slope), error = fit_relative(np.stack([np.ones(len(sizes)), sizes], axis=1), costs)
        return cls(ordered.points, "fitted", float(base), float(slope), error)

    @classmethod
    def proportional(cls) -> Curve:
        """Cost equals size: what is left to assume when nothing was measured."""
        return cls((), "assumed", 0.0, 1.0)

    def __post_init__(self) -> None:
        sizes = [point.size for point in self.points]
        if not sizes and self.kind != "assumed":
            raise CostError("a cost curve needs at least one measured point")
        twice = [size for size, after in pairwise(sizes) if size == after]
        if twice:
            raise CostError(f"size {twice[0]} was measured twice in one curve")

    def at(self, sizes: NDArray[np.int64]) -> Floats:
        """The cost at each size, same shape."""
        if self.kind != "measured":
            return self.base + self.slope * sizes.astype(float)
        return _interpolated(sizes, self._sizes(), self._costs())

    def interval(self, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Low and high ends: of the measurements, interpolated as the costs are; of a fit, by its error."""
        if self.kind == "measured":
            lows, highs = (np.array([getattr(p, end) for p in self.points]) for end in ("low", "high"))
            return _interpolated(sizes, self._sizes(), lows), _interpolated(sizes, self._sizes(), highs)
        costs, error = self.at(sizes), self.fit_error or 0.0
        return costs * max(0.0, 1 - error), costs * (1 + error)

    def is_measured(self, sizes: NDArray[np.int64]) -> Bools:
        """Where a cost is a measurement itself."""
        if self.kind != "measured":
            return np.zeros(sizes.shape, bool)
        return np.isin(sizes, self._sizes())

    def is_inside(self, sizes: NDArray[np.int64]) -> Bools:
        """Where a cost lies between measurements, not beyond them."""
        if not self.points:
            return np.zeros(sizes.shape, bool)
        inside = (sizes >= self.points[0].size) & (sizes <= self.points[-1].size)
        return np.asarray(inside, bool)

    @property
    def bends(self) -> tuple[int, ...]:
        """Sizes at which the slope may change; between two of them the curve is straight."""
        return tuple(point.size for point in self.points) if self.kind == "measured" else ()

    def _sizes(self) -> Floats:
        return np.array([point.size for point in self.points], float)

    def _costs(self) -> Floats:
        return np.array([point.cost for point in self.points], float)


def _interpolated(sizes: NDArray[np.int64], at: Floats, costs: Floats) -> Floats:
    wanted = sizes.astype(float)
    inside = np.interp(wanted, at, costs)
    slope = max(0.0, (costs[-1] - costs[-2]) / (at[-1] - at[-2])) if len(at) > 1 else costs[0] / at[0]
    return np.asarray(inside + np.maximum(wanted - at[-1], 0.0) * slope)
