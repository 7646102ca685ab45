"""Everything a rung costs: device time per call, seconds to make it, memory to keep it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner.curve import Curve, Floats
from compilescope.ladder.planner.errors import CostError
from compilescope.ladder.planner.surface import Surface

US_PER_S = 1e6
CostModel = Curve | Surface


@dataclass(frozen=True, slots=True)
class Amount:
    """Seconds or bytes of one rung: one number for all sizes, or points with straight lines between."""

    points: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, value: float | Iterable[tuple[int, float]]) -> Amount:
        """Raises CostError for no points, a size twice, and values that are not finite or below zero."""
        points = ((1, float(value)),) if isinstance(value, int | float) else tuple(sorted(value))
        if not points or len(dict(points)) < len(points):
            raise CostError("an amount needs one value, or points at different sizes")
        if not all(size >= 1 and np.isfinite(amount) and amount >= 0 for size, amount in points):
            raise CostError("amounts must be finite and not negative, at sizes from 1 up")
        return cls(points)

    @property
    def is_constant(self) -> bool:
        return len({amount for _, amount in self.points}) == 1

    @property
    def bends(self) -> tuple[int, ...]:
        return () if self.is_constant else tuple(size for size, _ in self.points)

    def at(self, sizes: NDArray[np.int64]) -> Floats:
        at, amounts = np.array(self.points, float).T
        return np.asarray(np.interp(sizes.astype(float), at, amounts))


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The cost of calls through one dynamic artifact. ``hint`` is the size it was tuned at, if known."""

    model: CostModel
    hint: int | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """``static`` is a call at exactly a rung's size; ``dynamic`` the same through a dynamic artifact.

    Unit of a call: microseconds of device time, or size units ("elements") where cost is assumed to be
    proportional to the size. Several dynamic curves are the same artifact tuned at different hints; then
    each needs its hint. Raises CostError for hints that are there twice or missing.
    """

    static: CostModel
    dynamic: tuple[Dynamic, ...] = ()
    compile_s: Amount | None = None
    capture_s: Amount | None = None
    memory_bytes: Amount | None = None
    unit: Literal["us", "elements"] = "us"

    @classmethod
    def assumed(cls, symbols: int = 1) -> Costs:
        """Nothing measured: a call costs its number of elements, and a rung nothing."""
        return cls(Curve.proportional() if symbols == 1 else Surface.proportional(), unit="elements")

    def __post_init__(self) -> None:
        hints = [dynamic.hint for dynamic in self.dynamic]
        if len(hints) > 1 and (None in hints or len(set(hints)) < len(hints)):
            raise CostError("several dynamic curves need a different hint each")
        if any(type(dynamic.model) is not type(self.static) for dynamic in self.dynamic):
            raise CostError("static and dynamic costs must be for the same number of symbols")
        if self.unit == "elements" and self.amounts:
            raise CostError("seconds and bytes of a rung can only be weighed against measured device time")
        if self.symbols > 1 and any(amount.bends for amount in self.amounts):
            raise CostError("for two symbols, seconds and bytes of a rung are one number each")

    @property
    def symbols(self) -> int:
        return 1 if isinstance(self.static, Curve) else 2

    @property
    def amounts(self) -> tuple[Amount, ...]:
        given = (self.compile_s, self.capture_s, self.memory_bytes)
        return tuple(amount for amount in given if amount is not None)

    @property
    def is_priced(self) -> bool:
        """Whether it is known what making a rung takes."""
        return self.compile_s is not None or self.capture_s is not None

    def seconds(self, sizes: NDArray[np.int64], *, static: bool = True) -> Floats:
        """Compile seconds of a rung at each size, and capture seconds of a static one; 0 where unknown."""
        parts = (self.compile_s, self.capture_s if static else None)
        return _sum(parts, sizes)

    def bytes(self, sizes: NDArray[np.int64], *, static: bool = True) -> Floats:
        """Bytes a static rung keeps (captured graph and buffers); a dynamic one keeps none."""
        return _sum((self.memory_bytes if static else None,), sizes)

    def nearest(self, hint: int) -> Dynamic:
        """The dynamic artifact tuned nearest to ``hint``. Needs a dynamic curve."""
        return min(self.dynamic, key=lambda dynamic: abs((dynamic.hint or hint) - hint))


def _sum(parts: tuple[Amount | None, ...], sizes: NDArray[np.int64]) -> Floats:
    total = np.zeros(len(sizes))
    for part in parts:
        if part is not None:
            total += part.at(sizes) if sizes.ndim == 1 else part.points[0][1]
    return total
