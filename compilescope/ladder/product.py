"""Ladders for several symbols at once: a sparse product under a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from compilescope.ladder.errors import LadderError
from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.rungs import Pad, Pin, Rung

DEFAULT_BUDGET = 64


@dataclass(frozen=True, slots=True)
class JointRung:
    """One rung per named symbol, e.g. batch=4, tokens=512. A name that is left out stays symbolic."""

    steps: tuple[tuple[str, Rung], ...]

    @property
    def label(self) -> str:
        if len(self.steps) == 1:
            return self.steps[0][1].label
        return ", ".join(f"{name}={rung.label}" for name, rung in self.steps)

    @property
    def is_exact(self) -> bool:
        return all(isinstance(rung, Pin) for _, rung in self.steps)


@dataclass(frozen=True, slots=True)
class LadderProduct:
    """The rungs to compile for several symbols.

    ``ladders`` gives each name its ladder. Without ``only`` the pins and pads of all names are crossed, and
    so are their ranges; with it just the listed combinations of pins and pads are made, each a mapping of
    name to size, where a name left out stays symbolic. Raises LadderError when more than ``budget`` artifacts
    would be compiled: a full cross product grows fast and nobody waits for it.
    """

    ladders: tuple[tuple[str, BucketLadder], ...]
    only: tuple[tuple[tuple[str, int], ...], ...] | None = None
    budget: int = DEFAULT_BUDGET

    @classmethod
    def of(
        cls,
        ladders: Mapping[str, BucketLadder],
        only: Iterable[Mapping[str, int]] | None = None,
        budget: int = DEFAULT_BUDGET,
    ) -> LadderProduct:
        chosen = None if only is None else tuple(tuple(sorted(combination.items())) for combination in only)
        return cls(tuple(ladders.items()), chosen, budget)

    def __post_init__(self) -> None:
        if not self.ladders:
            raise LadderError("no symbol has a ladder")
        rungs = self._count()
        if rungs > self.budget:
            raise LadderError(
                f"{rungs} rungs exceed the budget of {self.budget}",
                hint='List the combinations you need: only=[{"batch": 4, "tokens": 512}], or raise budget.',
            )
        self._check_only()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.ladders)

    def exact(self) -> tuple[JointRung, ...]:
        """The static rungs, those that fix most names first; ties from the smallest size up."""
        return tuple(joint for joint in self._static() if joint.is_exact)

    def pads(self) -> tuple[JointRung, ...]:
        """The static rungs that some name may be padded up to, smallest first."""
        padded = [joint for joint in self._static() if not joint.is_exact]
        return tuple(sorted(padded, key=lambda joint: prod(rung.high for _, rung in joint.steps)))

    def ranges(self) -> tuple[JointRung, ...]:
        """The dynamic rungs: a range per name, crossed; a name without a range stays symbolic."""
        spans = [
            [(name, span) for span in ladder.range_rungs]
            for name, ladder in self.ladders
            if ladder.range_rungs
        ]
        return tuple(JointRung(steps) for steps in product(*spans)) if spans else ()

    def _static(self) -> list[JointRung]:
        """Pins and pads, those that fix most names first."""
        if self.only is None:
            rungs = [[(name, rung) for rung in _fixed(ladder)] for name, ladder in self.ladders]
            return [JointRung(steps) for steps in product(*rungs)]
        ladders = dict(self.ladders)
        listed = [
            JointRung(tuple((name, _of_size(ladders[name], size)) for name, size in steps))
            for steps in self.only
        ]
        return sorted(listed, key=lambda joint: -len(joint.steps))

    def _count(self) -> int:
        ladders = [ladder for _, ladder in self.ladders]
        static = prod(len(_fixed(ladder)) for ladder in ladders) if self.only is None else len(self.only)
        with_ranges = [len(ladder.range_rungs) for ladder in ladders if ladder.range_rungs]
        return static + (prod(with_ranges) if with_ranges else 0)

    def _check_only(self) -> None:
        ladders = dict(self.ladders)
        seen = set()
        for steps in self.only or ():
            if steps in seen:
                raise LadderError(f"combination {dict(steps)} is there more than once")
            seen.add(steps)
            if not steps:
                raise LadderError("an empty combination fixes nothing")
            for name, size in steps:
                if name not in ladders:
                    raise LadderError(f"combination {dict(steps)} names {name!r}, which has no ladder")
                if all(rung.size != size for rung in _fixed(ladders[name])):
                    raise LadderError(
                        f"combination {dict(steps)}: {size} is not a pin of the ladder of {name!r}, nor a pad"
                    )


def _fixed(ladder: BucketLadder) -> tuple[Pin | Pad, ...]:
    return (*ladder.pin_rungs, *ladder.pad_rungs)


def _of_size(ladder: BucketLadder, size: int) -> Pin | Pad:
    return next(rung for rung in _fixed(ladder) if rung.size == size)
