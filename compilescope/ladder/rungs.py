"""The three kinds of rung.

Rung
├── Pin     one exact size, its own static artifact, nothing padded
├── Pad     a size that smaller inputs are padded up to
└── Range   sizes low..high that share one dynamic artifact, tuned at ``hint``

Each has ``low..high``, the sizes it can serve; ``tuned_at``, the size its code is tuned for; and
``label``, a short text that is unique within a ladder: '512', '<=512', '65..1024@777'.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from operator import index
from typing import Any

from compilescope.ladder.errors import LadderError


def whole_size(value: Any, what: str) -> int:
    """``value`` as an int >= 1; numpy integers pass, booleans and floats do not. Raises LadderError."""
    if isinstance(value, bool):
        raise LadderError(f"{what} must be a whole number, not {value!r}")
    try:
        size = index(value)
    except TypeError:
        raise LadderError(f"{what} must be a whole number, not {value!r}") from None
    if size < 1:
        raise LadderError(f"{what} must be at least 1, not {size}")
    return size


@dataclass(frozen=True, slots=True)
class Pin:
    """One exact size."""

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_size(self.size, "a pin"))

    @property
    def low(self) -> int:
        return self.size

    @property
    def high(self) -> int:
        return self.size

    @property
    def tuned_at(self) -> int:
        return self.size

    @property
    def label(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class Pad:
    """A size that inputs of at most that size are padded up to."""

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_size(self.size, "a pad"))

    @property
    def low(self) -> int:
        return 1

    @property
    def high(self) -> int:
        return self.size

    @property
    def tuned_at(self) -> int:
        return self.size

    @property
    def label(self) -> str:
        return f"<={self.size}"


@dataclass(frozen=True, slots=True)
class Range:
    """Sizes ``low..high``, both included. Without ``hint`` the code is tuned at their geometric mean."""

    low: int
    high: int
    hint: int = 0

    def __post_init__(self) -> None:
        low, high = (
            whole_size(self.low, "the low end of a range"),
            whole_size(self.high, "the high end of a range"),
        )
        if low > high:
            raise LadderError(f"range {low}..{high} is empty: its low end is above its high end")
        hint = whole_size(self.hint, "a hint") if self.hint else isqrt(low * high)
        if not low <= hint <= high:
            raise LadderError(f"hint {hint} lies outside its range {low}..{high}")
        for name, value in (("low", low), ("high", high), ("hint", hint)):
            object.__setattr__(self, name, value)

    @property
    def tuned_at(self) -> int:
        return self.hint

    @property
    def label(self) -> str:
        return f"{self.low}..{self.high}@{self.hint}"


Rung = Pin | Pad | Range
