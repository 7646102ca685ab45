"""A finding of ``Report.findings`` as the words a person reads: the same in every view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compilescope.units import count, seconds

if TYPE_CHECKING:
    from compilescope.analysis.report import Report, Worst

MOST_COMMAND = 600  # characters
_COUNTED = {
    "recompiles": ("recompile", "recompiles"),
    "eager_calls": ("eager call", "eager calls"),
    "break_events": ("graph break event", "graph break events"),
    "breaks_executed": ("run of the break", "runs of the break"),
    "failures": ("failure", "failures"),
    "guards": ("guard", "guards"),
    "captures": ("capture", "captures"),
    "calls_outside": ("call outside the ladder", "calls outside the ladder"),
    "op_calls": ("call of the operator", "calls of the operator"),
    "padded_rows": ("padded row", "padded rows"),
}


_FACTS = {
    "runtime_hits of ": ("how often ", " ran"),
    "eager_calls of ": ("eager calls of ", ""),
    "total_calls of ": ("all calls of ", ""),
}


def fact_words(fact: str) -> str:
    """What was not captured, for a person: "runtime_hits of train.py:9" is "how often train.py:9 ran"."""
    for name, (before, after) in _FACTS.items():
        if fact.startswith(name):
            return f"{before}{fact.removeprefix(name)}{after}"
    return fact.replace("_", " ") if fact.replace("_", "").isalpha() else fact


@dataclass(frozen=True, slots=True)
class FindingWords:
    """What is not known of a finding is None or empty. ``costs``: (figure, what it rests on).

    ``kind``: limit_hit, failure, graph_break, recompile, or finding. ``command`` does the fix in a shell: one
    printable line, to be shown whole so that it can be copied.
    """

    rule: str | None
    severity: str
    kind: str
    title: str
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    called_from: str | None
    costs: Sequence[tuple[str, str]]
    saving: str | None
    fix: str | None
    fix_kind: str | None
    command: str | None
    diff: str | None
    confidence: str | None
    could_be_wrong: str | None
    verified: str | None
    compile_ids: Sequence[str]
    changes: Sequence[str]
    sites: Sequence[str]
    notes: Sequence[str]
    refs: Sequence[str]

    @property
    def place(self) -> str:
        """``train.py:13``, or what is known of it."""
        if self.file is None:
            return self.function or "?"
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def page(self) -> str | None:
        """The documentation's page on the rule."""
        return f"docs/rules/{self.rule}" if self.rule else None

    @property
    def cost(self) -> str:
        """'1.27 s compiling (measured), 4 eager calls (counted)'"""
        parts = [(figure, basis.split(":", 1)[0]) for figure, basis in self.costs]
        return ", ".join(f"{figure} ({basis})" if basis else figure for figure, basis in parts)


def all_findings(report: Report) -> list[FindingWords]:
    """What rules found, ranked; a report that no rule has seen has its ranked facts."""
    if report.findings:
        return [finding_words(finding) for finding in report.findings]
    return [_of_fact(fact) for fact in report.worst]


def _of_fact(fact: Worst) -> FindingWords:
    return FindingWords(
        rule=None,
        severity="unrated",
        kind=fact.kind,
        title=fact.title,
        file=fact.file,
        line=fact.line,
        function=fact.function,
        code=fact.code,
        called_from=fact.called_from,
        costs=[(fact.cost, "")] if fact.cost else [],
        saving=None,
        fix=fact.fix,
        fix_kind=None,
        command=None,
        diff=None,
        confidence=None,
        could_be_wrong=None,
        verified=None,
        compile_ids=[],
        changes=_texts([fact.detail] if fact.detail else []),
        sites=[],
        notes=_texts([fact.note] if fact.note else []),
        refs=[],
    )


def finding_words(finding: Mapping[str, Any]) -> FindingWords:
    """``finding`` as ``summary --format json`` has it; names that are absent count as unknown."""
    evidence = finding.get("evidence") or {}
    return FindingWords(
        rule=_text(finding.get("rule")),
        severity=_text(finding.get("severity")) or "unrated",
        kind=_kind(_texts(finding.get("refs"))),
        title=_text(finding.get("summary")) or "",
        file=_text(finding.get("file")),
        line=_whole(finding.get("line")),
        function=_text(finding.get("function")),
        code=_text(finding.get("code")),
        called_from=_text(finding.get("called_from")),
        costs=_costs(finding.get("cost") or {}),
        saving=_saving(finding.get("saving"), _whole(finding.get("executions"))),
        fix=_text(finding.get("fix")),
        fix_kind=_text(finding.get("fix_kind")),
        command=_command(finding.get("command")),
        diff=_text(finding.get("diff")),
        confidence=_text(finding.get("confidence")),
        could_be_wrong=_text(finding.get("could_be_wrong")),
        verified=_verified(finding),
        compile_ids=_texts(evidence.get("compile_ids")),
        changes=_texts(evidence.get("changes")),
        sites=_texts(evidence.get("sites")),
        notes=_texts(evidence.get("notes")),
        refs=_texts(finding.get("refs")),
    )


def _command(value: Any) -> str | None:
    """None for one that no view could show whole on a line of its own: a cut command does something else."""
    command = _text(value)
    return command if command and command.isprintable() and len(command) <= MOST_COMMAND else None


def _kind(refs: Sequence[str]) -> str:
    """The worst kind among the rows behind a finding."""
    rows = {ref.split("[", 1)[0] for ref in refs}
    kinds = ("limit_hits", "failures", "graph_breaks", "recompiles")
    return next((kind.removesuffix("s") for kind in kinds if kind in rows), "finding")


def _costs(cost: Mapping[str, Any]) -> list[tuple[str, str]]:
    basis = cost.get("basis") or {}
    figures = {name: value for name, value in cost.items() if name != "basis"}
    return [(_figure(name, value), str(basis.get(name, "basis unknown"))) for name, value in figures.items()]


def _figure(name: str, value: Any) -> str:
    if not isinstance(value, int | float):
        return f"{name.replace('_', ' ')} unknown"
    if name.endswith("_s"):
        what = {"compile_s": "compiling"}.get(name, name.removesuffix("_s").replace("_", " "))
        return f"{seconds(value)} {what}"
    return count(int(value), *(_COUNTED.get(name) or (name.replace("_", " "),) * 2))


def _saving(saving: Mapping[str, Any] | None, executions: int | None) -> str:
    spared_s = saving.get("seconds") if saving else None
    later_s, basis = (saving or {}).get("per_1000_steps_s"), (saving or {}).get("basis")
    if spared_s is None and later_s is None:
        return f"unknown; ranked by {count(executions, 'execution')}" if executions else "unknown"
    later = "" if later_s is None else f", {seconds(later_s)} per 1,000 further steps"
    this = "unknown in this run" if spared_s is None else f"{seconds(spared_s)} of this run"
    return f"{this}{later}" + (f" ({basis})" if basis else "")


def _verified(finding: Mapping[str, Any]) -> str | None:
    """'verified: recompiles 7 -> 0, steps 12 ms -> 9 ms; tried: mode=max-autotune'"""
    told = finding.get("verification")
    if not isinstance(told, Mapping):
        return _text(finding.get("verified"))
    change = "; ".join(_texts(told.get("change")))
    by = {True: "", False: " (by another change than the fix)", None: ""}[told.get("is_fix")]
    times = [_times(told, name, label) for name, label in (("step_s", "steps"), ("compile_s", "compiling"))]
    figures = ", ".join(part for part in (_text(told.get("reason")), *times) if part)
    return f"{told.get('word')}: {figures}" + (f"; tried{by}: {change}" if change else "")


def _times(told: Mapping[str, Any], name: str, label: str) -> str | None:
    pair = [(told.get(side) or {}).get(name) for side in ("before", "after")]
    if not all(isinstance(value, int | float) for value in pair):
        return None
    return f"{label} {seconds(pair[0])} -> {seconds(pair[1])}"


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values or ()]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None
