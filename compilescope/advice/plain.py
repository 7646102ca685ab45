"""Findings as what other rooms take: JSON values, and the "fix first" lines that views draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from compilescope.advice.finding import RUNS_EAGER, Finding
from compilescope.analysis.report import AT_LEAST, Worst
from compilescope.units import count, seconds

_KINDS = ("limit_hits", "failures", "graph_breaks", "recompiles")


def findings_json(findings: list[Finding]) -> list[dict[str, Any]]:
    """What ``summary --format json`` prints under ``findings``: plain values, ranked."""
    return [_plain(finding) for finding in findings]


def _plain(finding: Finding) -> dict[str, Any]:
    evidence = {name: list(values) for name, values in asdict(finding.evidence).items()}
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "file": finding.file,
        "line": finding.line,
        "function": finding.function,
        "code": finding.code,
        "called_from": finding.called_from,
        "summary": finding.summary,
        "cost": _cost(finding),
        "saving": asdict(finding.saving) if finding.saving else None,
        "executions": finding.executions,
        "evidence": evidence,
        "fix": finding.fix,
        "fix_kind": finding.fix_kind,
        "command": finding.command,
        "diff": finding.diff,
        "confidence": finding.confidence,
        "could_be_wrong": finding.could_be_wrong,
        "verified": finding.verification.word if finding.verification else None,
        "verification": _verification(finding),
        "identity": finding.identity,
        "refs": list(finding.refs),
    }


def _verification(finding: Finding) -> dict[str, Any] | None:
    told = finding.verification
    return None if told is None else {**asdict(told), "change": list(told.change)}


def _cost(finding: Finding) -> Mapping[str, Any]:
    """``{"compile_s": 0.4, "basis": {"compile_s": "measured: wall clock of those recompiles"}}``"""
    values: dict[str, Any] = {name: amount.value for name, amount in finding.cost.items()}
    basis = {name: f"{amount.basis}: {amount.how}" for name, amount in finding.cost.items()}
    return {**values, "basis": basis}


def worst_from_findings(findings: Sequence[Finding]) -> list[Worst]:
    """One entry a finding, those of severity "note" left out. For ``Report.worst``."""
    return [_worst(finding) for finding in findings if finding.severity != "note"]


def _worst(finding: Finding) -> Worst:
    return Worst(
        kind=_kind(finding),
        title=finding.summary,
        file=finding.file,
        line=finding.line,
        function=finding.function,
        code=finding.code,
        detail=", ".join(finding.evidence.changes[:2]) or None,
        cost=_cost_text(finding) or None,
        note=_correction(finding),
        called_from=finding.called_from,
        fix=finding.fix or None,
    )


def _correction(finding: Finding) -> str | None:
    """Where torch's own warning names another cause: that it is not the one. And what a trial said."""
    blamed = [n for n in finding.evidence.notes if n.startswith("torch's own warning blames")][:1]
    tried = finding.verification
    told = [f"tried, {tried.word}: {tried.reason}"] if tried else []
    return "; ".join([*told, *blamed]) or None


def _kind(finding: Finding) -> str:
    """limit_hit, failure, graph_break or recompile, the worst of the rows behind it; else "finding"."""
    rows = {ref.split("[", 1)[0] for ref in finding.refs}
    return next((kind.removesuffix("s") for kind in _KINDS if kind in rows), "finding")


def _cost_text(finding: Finding) -> str:
    cost = finding.cost
    parts = []
    if "breaks_executed" in cost:
        ran = cost["breaks_executed"]
        least = "at least " if ran.how.startswith(AT_LEAST) else ""
        parts.append(f"ran {least}{count(int(ran.value), 'time')} (counted)")
    if RUNS_EAGER in finding.evidence.notes:
        parts.append("a whole function runs eager")
    if "recompiles" in cost:
        spent = seconds(cost["compile_s"].value) if "compile_s" in cost else "unknown time"
        parts.append(f"{spent} in {count(int(cost['recompiles'].value), 'recompile')} (measured)")
    elif "compile_s" in cost:
        parts.append(f"{seconds(cost['compile_s'].value)} compiling (measured)")
    if "eager_calls" in cost:
        parts.append(count(int(cost["eager_calls"].value), "eager call"))
    return ", ".join(parts)
