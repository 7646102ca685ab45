"""BucketLadder: a frozen, validated, ordered set of rungs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

from compilescope.ladder.errors import LadderError
from compilescope.ladder.rungs import Pad, Pin, Range, Rung
from compilescope.ladder.validation import check_rungs


@dataclass(frozen=True, slots=True, repr=False)
class BucketLadder:
    """Rungs for one symbol, e.g. the number of tokens.

    >>> BucketLadder.pins([256, 512]) | BucketLadder.range(1, 8192, hint=600)
    BucketLadder.pins([256, 512]) | BucketLadder.range(1, 8192, hint=600)

    Equal ladders are equal whatever the order they were written in. Raises LadderError for a rung
    that is there twice, ranges that overlap, and rungs that no size can reach.
    """

    rungs: tuple[Rung, ...] = ()
    minimum: int | None = field(default=None)
    maximum: int | None = field(default=None)

    def __post_init__(self) -> None:
        rungs = tuple(sorted(self.rungs, key=_order))
        check_rungs(rungs, self.minimum, self.maximum)
        object.__setattr__(self, "rungs", rungs)

    @classmethod
    def pins(cls, sizes: Iterable[int]) -> BucketLadder:
        """A static artifact for each of ``sizes``."""
        return cls(tuple(Pin(size) for size in sizes))

    @classmethod
    def pads(cls, sizes: Iterable[int]) -> BucketLadder:
        """Sizes that inputs are padded up to; what pads and slices them is the backend's padding contract."""
        return cls(tuple(Pad(size) for size in sizes))

    @classmethod
    def range(cls, low: int, high: int, hint: int | None = None) -> BucketLadder:
        """One dynamic artifact for ``low..high`` inclusive, tuned at ``hint`` (their geometric mean)."""
        if hint is not None and hint < 1:
            raise LadderError(f"hint {hint} lies outside its range {low}..{high}")
        return cls((Range(low, high, hint or 0),))

    def within(self, minimum: int = 1, maximum: int | None = None) -> BucketLadder:
        """The same ladder, the sizes of its traffic declared. Raises LadderError for rungs outside."""
        return BucketLadder(self.rungs, minimum, maximum)

    def __or__(self, other: BucketLadder) -> BucketLadder:
        if not isinstance(other, BucketLadder):
            return NotImplemented
        merged = self.rungs + tuple(rung for rung in other.rungs if rung not in self.rungs)
        minimum = _agreed("minimum", self.minimum, other.minimum)
        return BucketLadder(merged, minimum, _agreed("maximum", self.maximum, other.maximum))

    def serving(self, size: int) -> Rung | None:
        """The rung that serves ``size``: its pin, else the smallest pad that holds it, else its range."""
        for pin in self.pin_rungs:
            if pin.size == size:
                return pin
        pads = self.pad_rungs
        position = bisect_left([pad.size for pad in pads], size)
        if position < len(pads):
            return pads[position]
        return next((span for span in self.range_rungs if span.low <= size <= span.high), None)

    def fitting(self, size: int) -> int | None:
        """The smallest pin or pad of at least ``size``, for whoever pads before the call; None above all."""
        sizes = (rung.high for rung in self.rungs if not isinstance(rung, Range))
        return min((each for each in sizes if each >= size), default=None)

    @property
    def pin_rungs(self) -> tuple[Pin, ...]:
        return tuple(rung for rung in self.rungs if isinstance(rung, Pin))

    @property
    def pad_rungs(self) -> tuple[Pad, ...]:
        return tuple(rung for rung in self.rungs if isinstance(rung, Pad))

    @property
    def range_rungs(self) -> tuple[Range, ...]:
        return tuple(rung for rung in self.rungs if isinstance(rung, Range))

    @property
    def typical(self) -> int | None:
        """The median of the sizes the rungs are tuned at; None for an empty ladder."""
        return median_low(rung.tuned_at for rung in self.rungs) if self.rungs else None

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def __repr__(self) -> str:
        parts = []
        if self.pin_rungs:
            parts.append(f"BucketLadder.pins({[rung.size for rung in self.pin_rungs]})")
        if self.pad_rungs:
            parts.append(f"BucketLadder.pads({[rung.size for rung in self.pad_rungs]})")
        parts += [f"BucketLadder.range({r.low}, {r.high}, hint={r.hint})" for r in self.range_rungs]
        text = " | ".join(parts) or "BucketLadder()"
        if self.minimum is None and self.maximum is None:
            return text
        text = f"({text})" if len(parts) > 1 else text
        return f"{text}.within({self.minimum or 1}, {self.maximum})"


def _order(rung: Rung) -> tuple[Any, ...]:
    kind = (Pin, Pad, Range).index(type(rung))
    return kind, rung.low, rung.high, rung.tuned_at


def _agreed(what: str, left: int | None, right: int | None) -> int | None:
    if left is not None and right is not None and left != right:
        raise LadderError(f"the two ladders declare different {what} sizes: {left} and {right}")
    return right if left is None else left
