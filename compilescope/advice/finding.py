"""What a rule says: one root cause, what it cost, what to change, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["critical", "high", "medium", "low", "note"]
Basis = Literal["measured", "counted", "estimated"]
Confidence = Literal["high", "medium", "low"]

SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "note")


@dataclass(frozen=True, slots=True)
class Amount:
    """One figure of a cost, with what it rests on."""

    value: float
    basis: Basis
    how: str


@dataclass(frozen=True, slots=True)
class Saving:
    """Seconds this run would have been shorter, and seconds per 1,000 further steps; None is unknown."""

    seconds: float | None
    per_1000_steps_s: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class Evidence:
    compile_ids: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  # "self.calls 0 -> 1 -> ... -> 8"
    sites: tuple[str, ...] = ()  # "train.py:16 if y.mean() > 0:"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """What a trial said. ``before`` and ``after`` are figures of this finding, and ``step_s``, ``compile_s``
    of the program, where known. ``is_fix`` is None when the user's edited program was tried. ``at`` is UTC.
    """

    word: Literal["verified", "no effect", "harmful"]
    reason: str
    change: tuple[str, ...] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)
    is_fix: bool | None = None
    at: str | None = None


# The note of a break that no part of a function survives: it is worse than one that splits the function.
RUNS_EAGER = "a whole function around it runs eager"


@dataclass(frozen=True, slots=True)
class Finding:
    """One root cause, however many events it made.

    ``cost`` keys: compile_s, recompiles, eager_calls, breaks_executed, break_events, guards, failures ..
    ``saving`` is None when unknown: such a finding is ranked by ``executions``, which is counted.
    ``identity`` does not depend on line numbers, values or torch's counters.
    ``refs`` name rows of the report: "recompiles[2]".
    ``command`` does what ``fix`` says: one line for a shell, which views show whole, never wrapped or cut.
    """

    rule: str
    severity: Severity
    file: str | None
    line: int | None
    function: str | None
    summary: str
    fix: str
    fix_kind: str
    identity: str
    cost: Mapping[str, Amount] = field(default_factory=dict)
    saving: Saving | None = None
    executions: int = 0
    evidence: Evidence = field(default_factory=Evidence)
    diff: str | None = None
    confidence: Confidence = "high"
    could_be_wrong: str | None = None
    code: str | None = None
    called_from: str | None = None
    refs: tuple[str, ...] = ()
    verification: Verification | None = None
    command: str | None = None

    @property
    def place(self) -> str:
        """``train.py:13``, or what is known of it."""
        if self.file is None:
            return self.function or "?"
        return self.file if self.line is None else f"{self.file}:{self.line}"
