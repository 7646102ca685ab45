"""Whether the generated code and Inductor's own structures tell the same kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compilescope.model.inductor.schedule import ScheduledKernel
from compilescope.model.inductor.values import Kernel


@dataclass(frozen=True, slots=True)
class Disagreement:
    """(kind, launches) as each source has it; None: it has no such kernel."""

    kernel: str
    code: tuple[str, int] | None
    scheduler: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class Agreement:
    kernels: int
    agreeing: int
    disagreements: tuple[Disagreement, ...]


def agreement(from_code: Sequence[Kernel], from_scheduler: Mapping[str, ScheduledKernel]) -> Agreement:
    """Kernels by name; they agree if kind and launches per call are the same in both."""
    code = {kernel.name: (kernel.kind, kernel.launches) for kernel in from_code}
    scheduler = {kernel.name: (kernel.kind, kernel.launches) for kernel in from_scheduler.values()}
    names = list(dict.fromkeys((*code, *scheduler)))
    differing = tuple(
        Disagreement(name, code.get(name), scheduler.get(name))
        for name in names
        if code.get(name) != scheduler.get(name)
    )
    return Agreement(len(names), len(names) - len(differing), differing)
