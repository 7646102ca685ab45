"""Findings as text for a terminal: a list, or one in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compilescope.units import count, seconds, visible

if TYPE_CHECKING:
    from compilescope.advice import Finding

_LABEL = 9
_COUNTED = {
    "recompiles": ("recompile", "recompiles"),
    "eager_calls": ("eager call", "eager calls"),
    "break_events": ("break event", "break events"),
    "breaks_executed": ("execution", "executions"),
    "failures": ("failure", "failures"),
    "guards": ("guard", "guards"),
    "captures": ("capture", "captures"),
    "padded_rows": ("padded row", "padded rows"),
}


def findings_text(findings: Sequence[Finding], *, width: int) -> str:
    """Every finding in a few lines, worst first."""
    rows = [row for number, f in enumerate(findings, 1) for row in [*_short(number, f, width), ""]]
    return "\n".join([*rows, "One in full: compilescope advise RECORDING NUMBER"]) + "\n"


def finding_text(number: int, finding: Finding, *, width: int) -> str:
    """One finding with its evidence, what could make it wrong, and the change."""
    evidence = finding.evidence
    rows = [
        *_short(number, finding, width),
        *_field("saves", _saving(finding), width),
        *(row for change in evidence.changes for row in _field("changed", change, width)),
        *(row for site in evidence.sites for row in _field("at", site, width)),
        *_field("from", finding.called_from or "", width),
        *(row for note in evidence.notes for row in _field("note", note, width)),
        *_field("compiles", ", ".join(evidence.compile_ids), width),
        *_field("unless", finding.could_be_wrong or "", width),
        *_field("sure", finding.confidence, width),
        *_field("rule", f"{finding.rule} ({finding.fix_kind})", width),
    ]
    if finding.diff:
        rows += ["", *(visible(line) for line in finding.diff.splitlines())]
    return "\n".join(rows) + "\n"


def _short(number: int, finding: Finding, width: int) -> Iterator[str]:
    head = f"{number} [{finding.severity}] {visible(finding.place)}"
    yield head
    yield from textwrap.wrap(visible(finding.summary), width, initial_indent="  ", subsequent_indent="  ")
    yield from _field("cost", _cost(finding), width)
    yield from _field("fix", finding.fix, width)


def _field(label: str, text: str, width: int) -> Iterator[str]:
    if not text:
        return
    indent = " " * (_LABEL + 2)
    first = f"  {label}".ljust(_LABEL + 2)
    yield from textwrap.wrap(visible(text), width, initial_indent=first, subsequent_indent=indent)


def _cost(finding: Finding) -> str:
    parts = []
    for name, amount in finding.cost.items():
        if name.endswith("_s"):
            label = {"compile_s": "compiling"}.get(name, name.removesuffix("_s").replace("_", " "))
            parts.append(f"{seconds(amount.value)} {label} ({amount.basis})")
        else:
            words = _COUNTED.get(name) or (name.replace("_", " "),) * 2
            parts.append(f"{count(int(amount.value), *words)} ({amount.basis})")
    return ", ".join(parts)


def _saving(finding: Finding) -> str:
    saving = finding.saving
    if saving is None or saving.seconds is None:
        return f"unknown; ranked by {count(finding.executions, 'execution')} (counted)"
    later = "unknown" if saving.per_1000_steps_s is None else seconds(saving.per_1000_steps_s)
    return f"{seconds(saving.seconds)} of this run, {later} per 1,000 further steps ({saving.basis})"
