"""From a recorded run: the report with its findings, and what rules need that a report does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from compilescope.advice.facts import CompileKey
from compilescope.advice.finding import Finding
from compilescope.advice.plain import findings_json
from compilescope.advice.rules import advise
from compilescope.advice.verdicts import read_op_checks, read_verdicts, with_verdicts
from compilescope.analysis.build import report_of
from compilescope.analysis.paths import Paths
from compilescope.analysis.report import Report
from compilescope.model import Run


def examine(run: Run) -> tuple[Report, list[Finding]]:
    """The report of a run, ``findings`` filled, and the findings themselves. What trials said is in both."""
    report = report_of(run)
    found = advise(
        report,
        sources_of(run),
        guards=guards_of(run),
        threads=threads_of(run),
        warnings=[line.text for process in run.processes for line in process.logs],
        op_checks=read_op_checks(Path(run.path)),
    )
    found = with_verdicts(found, read_verdicts(Path(run.path)))
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


def threads_of(run: Run) -> dict[CompileKey, str]:
    return {
        (process.id, str(compiled.id)): str(compiled.thread)
        for process in run.processes
        for compiled in process.compiles.values()
        if compiled.thread is not None
    }
