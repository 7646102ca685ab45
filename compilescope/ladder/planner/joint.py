"""A ladder for two symbols as the planner sees it: a product of pads, or pinned pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.product import LadderProduct

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class JointLadder:
    """Either ``pads``, one ladder of pads per symbol: every combination is a rung, each size padded by its
    own ladder. Or ``pinned`` pairs, each an artifact of its own, and one dynamic artifact for all other sizes
    up to ``highest``.
    """

    names: tuple[str, str]
    pads: tuple[BucketLadder, BucketLadder] | None = None
    pinned: tuple[Pair, ...] = ()
    highest: Pair | None = None

    def __len__(self) -> int:
        if self.pads is not None:
            return prod(len(ladder) for ladder in self.pads)
        return len(self.pinned) + (self.highest is not None)

    @property
    def static_rungs(self) -> tuple[Pair, ...]:
        if self.pads is None:
            return self.pinned
        first, second = self.pads
        return tuple((a.size, b.size) for a in first.pad_rungs for b in second.pad_rungs)

    def as_product(self) -> LadderProduct:
        """The pinned pairs for the bucketed backend. Pads are kept as ladders of pads."""
        if self.pads is not None:
            return LadderProduct.of(dict(zip(self.names, self.pads, strict=True)), budget=max(len(self), 1))
        only = [dict(zip(self.names, pair, strict=True)) for pair in self.pinned]
        return LadderProduct.of(dict(self._pin_ladders()), only, budget=max(len(self), 1))

    def _pin_ladders(self) -> Sequence[tuple[str, BucketLadder]]:
        found = []
        for axis, name in enumerate(self.names):
            ladder = BucketLadder.pins(sorted({pair[axis] for pair in self.pinned}))
            if self.highest is not None:
                high = self.highest[axis]
                if len(ladder) < high:  # else every size is pinned, and no range can be reached
                    ladder |= BucketLadder.range(1, high)
            found.append((name, ladder))
        return found
