"""What one run of a program came to: counts, times, results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compilescope.advice import Finding, examine
from compilescope.analysis import Report
from compilescope.model import Run, load
from compilescope.recording import Recording, open_recording
from compilescope.trial.timing import Interval, Steps, steady, steps_of

COUNTS = (
    "break_sites",
    "break_events",
    "recompiles",
    "refused_compiles",
    "limit_hits",
    "eager_calls",
    "failures",
    "graphs",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """``counts`` has None for what is unknown. ``checks``: name -> its values in order.

    ``by_finding``: identity -> what that finding counted.
    """

    exit_status: int | None
    counts: Mapping[str, int | None]
    compile_s: float | None
    wall_s: float | None
    steps: Steps | None
    step_s: Interval | None
    checks: Mapping[str, list[Any]]
    by_finding: Mapping[str, Mapping[str, float]]
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]


def measure(path: Path, shown: Callable[[str], str] = str) -> Measured:
    """``shown`` turns names of files in a copy into those of the originals. Raises RecordingError."""
    recording = open_recording(path)
    run = load(recording)
    report, findings = examine(run)
    steps = steps_of(recording.processes)
    return Measured(
        exit_status=report.recording.exit_status,
        counts=_counts(report),
        compile_s=report.totals.compile_wall_s,
        wall_s=report.recording.wall_s,
        steps=steps,
        step_s=steady(steps, _last_compile_ns(run)),
        checks=_checks(recording),
        by_finding={
            shown(finding.identity): {name: amount.value for name, amount in finding.cost.items()}
            for finding in findings
        },
        findings=tuple(findings),
        problems=tuple(_problems(recording)),
    )


def _counts(report: Report) -> dict[str, int | None]:
    totals = report.totals
    values = (
        totals.graph_break_sites,
        totals.graph_break_events,
        totals.recompiles,
        totals.blocked_by_limit,
        totals.limit_hits,
        totals.eager_calls,
        totals.failures,
        totals.graphs,
    )
    return dict(zip(COUNTS, values, strict=True))


def _last_compile_ns(run: Run) -> int | None:
    ends = [c.end_ns for p in run.processes for c in p.compiles.values() if c.end_ns is not None]
    ends += [end for p in run.processes for _, end in p.backward_spans]
    return max(ends, default=None)


def _checks(recording: Recording) -> dict[str, list[Any]]:
    """Values of ``compilescope.check``; with several processes each has names of its own."""
    found: dict[str, list[Any]] = {}
    for number, process in enumerate(sorted(recording.processes, key=_rank)):
        for record in process.records(("check",)):
            name = str(record.m.get("name"))
            found.setdefault(f"{name} ({number})" if number else name, []).append(record.m.get("value"))
    return found


def _rank(process: Any) -> tuple[int, int]:
    rank, started = process.head.get("rank"), process.head.get("start_ns")
    return rank if isinstance(rank, int) else 0, started if isinstance(started, int) else 0


def _problems(recording: Recording) -> list[str]:
    """Why the change was not what it should have been in some process."""
    found: list[str] = []
    for process in recording.processes:
        for record in process.records(("applied",)):
            found += [f"{n} could not be set: {why}" for n, why in _items(record.m, "failed")]
            found += [f"the program had set {n} to {v}" for n, v in _items(record.m, "overridden")]
            found += [f"the program set {n} to {v}" for n, v in _items(record.m, "changed_by_program")]
    return list(dict.fromkeys(found))


def _items(fields: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    value = fields.get(key)
    return list(value.items()) if isinstance(value, dict) else []
