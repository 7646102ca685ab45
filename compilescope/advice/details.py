"""From a recorded run: the report with its findings, and what rules need that a report does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from compilescope.advice.advise import advise
from compilescope.advice.facts import CompileKey
from compilescope.advice.finding import Finding
from compilescope.analysis.build import report_of
from compilescope.analysis.paths import Paths
from compilescope.analysis.report import Report
from compilescope.model import Run


def examine(run: Run) -> tuple[Report, list[Finding]]:
    """The report of a run, ``findings`` filled, and the findings themselves."""
    report = report_of(run)
    found = advise(report, sources_of(run), guards=guards_of(run), threads=threads_of(run))
    return replace(report, findings=findings_json(found)), found


def sources_of(run: Run) -> dict[str, str]:
    """Stored source texts by the names that the report gives their files."""
    texts: dict[str, str] = {}
    for process in run.processes:
        cwd = run.launch.get("cwd") or process.cwd
        paths = Paths(cwd if isinstance(cwd, str) else None)
        for file, text in process.sources.items():
            texts.setdefault(paths.show(file), text)
    return texts


def guards_of(run: Run) -> dict[CompileKey, int]:
    return {
        (process.id, str(compiled.id)): compiled.guard_count
        for process in run.processes
        for compiled in process.compiles.values()
        if compiled.guard_count is not None
    }


def threads_of(run: Run) -> dict[CompileKey, int]:
    return {
        (process.id, str(compiled.id)): compiled.thread
        for process in run.processes
        for compiled in process.compiles.values()
        if compiled.thread is not None
    }


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
        "diff": finding.diff,
        "confidence": finding.confidence,
        "could_be_wrong": finding.could_be_wrong,
        "verified": None,
        "identity": finding.identity,
        "refs": list(finding.refs),
    }


def _cost(finding: Finding) -> Mapping[str, Any]:
    """``{"compile_s": 0.4, "basis": {"compile_s": "measured: wall clock of those recompiles"}}``"""
    values: dict[str, Any] = {name: amount.value for name, amount in finding.cost.items()}
    basis = {name: f"{amount.basis}: {amount.how}" for name, amount in finding.cost.items()}
    return {**values, "basis": basis}
