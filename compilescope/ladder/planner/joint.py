"""A ladder for two symbols as the planner sees it: a product of pads, a set of pads, or pinned pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.product import LadderProduct

Pair = tuple[int, int]
Form = Literal["product", "set", "pairs"]


@dataclass(frozen=True, slots=True)
class JointLadder:
    """Either ``pads``, one ladder of pads per symbol: every combination is a rung, each size padded by its
    own ladder. Or ``combinations`` alone that sizes are padded up to, in the order in which they are asked.
    Or ``pinned`` pairs, each an artifact of its own, and one dynamic artifact for all other sizes up to
    ``highest``.
    """

    names: tuple[str, str]
    pads: tuple[BucketLadder, BucketLadder] | None = None
    pinned: tuple[Pair, ...] = ()
    highest: Pair | None = None
    combinations: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        ordered = sorted(set(self.combinations), key=lambda pair: (prod(pair), pair))
        object.__setattr__(self, "combinations", tuple(ordered))

    def __len__(self) -> int:
        if self.pads is not None:
            return prod(len(ladder) for ladder in self.pads)
        return len(self.pinned) + len(self.combinations) + (self.highest is not None)

    @property
    def form(self) -> Form:
        if self.combinations:
            return "set"
        return "pairs" if self.pads is None else "product"

    @property
    def static_rungs(self) -> tuple[Pair, ...]:
        if self.pads is None:
            return self.combinations or self.pinned
        first, second = self.pads
        return tuple((a.size, b.size) for a in first.pad_rungs for b in second.pad_rungs)

    def padded_to(self, size: Pair) -> Pair | None:
        """The pad that serves ``size`` in the bucketed backend: the smallest product of sizes that holds it.

        Torch makes a size of 1 a constant, which only a combination with that 1 serves. Where no such one
        holds ``size``, the caller has to pad the 1 up before the call.
        """
        rungs = self.static_rungs if self.pads is not None or self.combinations else ()
        holding = [rung for rung in rungs if rung[0] >= size[0] and rung[1] >= size[1]]
        return min(holding, key=lambda rung: (ones_padded(size, rung), prod(rung), rung), default=None)

    def as_product(self) -> LadderProduct:
        """For the bucketed backend; every combination of pads, unless they were chosen."""
        budget = max(len(self), 1)
        if self.pads is not None:
            return LadderProduct.of(dict(zip(self.names, self.pads, strict=True)), budget=budget)
        only = [dict(zip(self.names, pair, strict=True)) for pair in self.static_rungs]
        ladders = self._pad_ladders() if self.combinations else self._pin_ladders()
        return LadderProduct.of(dict(ladders), only, budget=budget)

    def _pad_ladders(self) -> Sequence[tuple[str, BucketLadder]]:
        return [
            (name, BucketLadder.pads(sorted({pair[axis] for pair in self.combinations})))
            for axis, name in enumerate(self.names)
        ]

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


def ones_padded(size: Sequence[int], rung: Sequence[int]) -> int:
    """How many sizes of 1 become larger on the way from ``size`` to ``rung``."""
    return sum(n == 1 and more > 1 for n, more in zip(size, rung, strict=True))
