"""What a plan must keep to."""

from __future__ import annotations

import math
from dataclasses import dataclass

from compilescope.ladder.planner.errors import PlanError

MOST_RUNGS = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """``max_rungs`` counts every artifact: pins, pads and ranges.

    Pins and pads are multiples of ``align``. Pads end at ``largest``, and pad no size by more than
    ``max_padding`` times itself: what the padding contract of the program allows. ``maximum`` is the largest
    size that will ever come, if that is known: it is served even where the traffic never had it.
    ``compile_budget_s`` (compile and capture seconds of all rungs) and ``memory_budget_bytes`` are caps.
    Raises PlanError for numbers that mean nothing.
    """

    max_rungs: int = 8
    align: int = 1
    pins: bool = True
    pads: bool = True
    maximum: int | None = None
    largest: int | None = None
    max_padding: float | None = None
    compile_budget_s: float | None = None
    memory_budget_bytes: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.max_rungs <= MOST_RUNGS:
            raise PlanError(f"the number of rungs must lie in 1..{MOST_RUNGS}, not {self.max_rungs}")
        for name in ("align", "maximum", "largest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PlanError(f"{name} must be at least 1, not {value}")
        for name in ("max_padding", "compile_budget_s", "memory_budget_bytes"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise PlanError(f"{name} must be a number from 0 up, not {value}")

    @property
    def is_capped(self) -> bool:
        return self.compile_budget_s is not None or self.memory_budget_bytes is not None
