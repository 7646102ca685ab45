"""What one call costs at each pair of sizes, for traffic of two symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner._fit import fit_relative
from compilescope.ladder.planner.curve import Bools, CostPoint, Floats, Kind
from compilescope.ladder.planner.errors import CostError

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Surface:
    """Cost over two sizes. ``points`` has the pair measured and its cost (the point's size is the product).

    Points on a full grid are interpolated (bilinear; beyond the grid its edge cells go on); others are
    fitted by ``a + b*x + c*y + d*x*y`` with terms that are not negative. Raises CostError for no points
    and for a pair measured twice.
    """

    points: tuple[tuple[Pair, CostPoint], ...]
    kind: Kind
    terms: tuple[float, ...] = ()
    fit_error: float | None = None
    _axes: tuple[Floats, Floats] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def measured(cls, points: Iterable[tuple[Pair, CostPoint]]) -> Surface:
        ordered = tuple(sorted(points, key=lambda item: item[0]))
        pairs = [pair for pair, _ in ordered]
        if not pairs:
            raise CostError("a cost surface needs at least one measured point")
        if len(set(pairs)) < len(pairs):
            raise CostError("a pair of sizes was measured twice in one surface")
        axes = tuple(np.array(sorted({pair[axis] for pair in pairs}), float) for axis in (0, 1))
        if min(map(len, axes)) > 1 and len(axes[0]) * len(axes[1]) == len(pairs):
            return cls(ordered, "measured", _axes=(axes[0], axes[1]))
        return cls.fitted(ordered)

    @classmethod
    def fitted(cls, points: Iterable[tuple[Pair, CostPoint]]) -> Surface:
        ordered = tuple(sorted(points, key=lambda item: item[0]))
        pairs = np.array([pair for pair, _ in ordered], float)
        costs = np.array([point.cost for _, point in ordered])
        terms, error = fit_relative(_columns(pairs), costs)
        return cls(ordered, "fitted", tuple(map(float, terms)), error)

    @classmethod
    def proportional(cls) -> Surface:
        """Cost equals the product of the sizes: what is left to assume when nothing was measured."""
        return cls((), "assumed", (0.0, 0.0, 0.0, 1.0))

    def at(self, sizes: NDArray[np.int64]) -> Floats:
        """The cost of each pair; ``sizes`` has shape (pairs, 2)."""
        if self._axes is None:
            return np.asarray(_columns(sizes.astype(float)) @ np.array(self.terms))
        return self._bilinear(sizes.astype(float), [point.cost for _, point in self.points])

    def interval(self, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        if self._axes is None:
            costs, error = self.at(sizes), self.fit_error or 0.0
            return costs * max(0.0, 1 - error), costs * (1 + error)
        wanted = sizes.astype(float)
        low = self._bilinear(wanted, [point.low for _, point in self.points])
        return low, self._bilinear(wanted, [point.high for _, point in self.points])

    def is_measured(self, sizes: NDArray[np.int64]) -> Bools:
        """Where a cost is a measurement itself."""
        known = {pair for pair, _ in self.points} if self.kind == "measured" else set()
        return np.array([(int(x), int(y)) in known for x, y in sizes], bool)

    def is_inside(self, sizes: NDArray[np.int64]) -> Bools:
        """Where a cost lies between measurements, not beyond them."""
        if not self.points:
            return np.zeros(len(sizes), bool)
        pairs = np.array([pair for pair, _ in self.points])
        return np.asarray(((sizes >= pairs.min(axis=0)) & (sizes <= pairs.max(axis=0))).all(axis=1), bool)

    def _bilinear(self, wanted: Floats, costs: list[float]) -> Floats:
        assert self._axes is not None
        grid = np.array(costs).reshape(len(self._axes[0]), len(self._axes[1]))
        (i, u), (j, v) = (_cell(wanted[:, axis], self._axes[axis]) for axis in (0, 1))
        left = grid[i, j] * (1 - v) + grid[i, j + 1] * v
        right = grid[i + 1, j] * (1 - v) + grid[i + 1, j + 1] * v
        return np.asarray(np.maximum(left * (1 - u) + right * u, grid.min()))


def _cell(values: Floats, axis: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The cell each value lies in, the last one beyond the grid, and how far into it; 0 before the first."""
    cell = np.clip(np.searchsorted(axis, values, side="right") - 1, 0, len(axis) - 2)
    return cell, np.maximum((values - axis[cell]) / (axis[cell + 1] - axis[cell]), 0.0)


def _columns(pairs: Floats) -> Floats:
    x, y = pairs[:, 0], pairs[:, 1]
    return np.stack([np.ones(len(pairs)), x, y, x * y], axis=1)
