"""The baseline file: what is known and accepted, keyed by the identity of a finding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compilescope.advice.finding import SEVERITIES, Finding, Severity
from compilescope.analysis.report import Report
from compilescope.errors import UsageError

FORMAT_VERSION = 1
TOTALS = ("graphs", "graph_break_sites", "recompiles", "limit_hits", "failures")
_REMAKE = "make it again with --write-baseline"


@dataclass(frozen=True, slots=True)
class Known:
    """An accepted finding. ``counts`` are exact numbers of an unchanged program."""

    severity: Severity
    rule: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Baseline:
    """``made_with``: torch and device; figures of another pair are not comparable in time.

    ``after_step``: only what came after that step was counted; None is the whole run.
    """

    made_with: Mapping[str, str]
    totals: Mapping[str, int]
    compile_s: float | None
    exit_status: int | None
    findings: Mapping[str, Known]
    after_step: int | None = None


def baseline_of(report: Report, findings: Sequence[Finding], after_step: int | None = None) -> Baseline:
    return Baseline(
        made_with=environment(report),
        totals={name: getattr(report.totals, name) for name in TOTALS},
        compile_s=report.totals.compile_wall_s,
        exit_status=report.recording.exit_status,
        findings={f.identity: Known(f.severity, f.rule, counts(f)) for f in findings},
        after_step=after_step,
    )


def environment(report: Report) -> dict[str, str]:
    torch = sorted({p.torch for p in report.processes if p.torch})
    devices = sorted({p.device for p in report.processes if p.device})
    return {"torch": ", ".join(torch), "device": ", ".join(devices)}


def counts(finding: Finding) -> dict[str, int]:
    return {name: int(a.value) for name, a in finding.cost.items() if a.basis == "counted"}


def read(path: Path) -> Baseline | None:
    """None when there is no such file. Raises UsageError when it is not a baseline of this version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"cannot read the baseline {path}: {problem}", hint=_REMAKE) from problem
    if not isinstance(data, dict) or data.get("v") != FORMAT_VERSION:
        version = data.get("v") if isinstance(data, dict) else None
        raise UsageError(
            f"{path} is not a baseline of version {FORMAT_VERSION} (v: {version!r})", hint=_REMAKE
        )
    try:
        return _parsed(data)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UsageError(f"the baseline {path} is damaged: {problem}", hint=_REMAKE) from problem


def require_step(baseline: Baseline, after_step: int | None, path: Path) -> None:
    """Raises UsageError when the baseline counted another part of its run."""
    if baseline.after_step != after_step:
        then = "of the whole run" if baseline.after_step is None else f"after step {baseline.after_step}"
        raise UsageError(f"the baseline {path} has counts {then}", hint=f"give the same step, or {_REMAKE}")


def to_json(baseline: Baseline) -> str:
    """Sorted and indented: a baseline is committed, and its changes are read in reviews."""
    data = {
        "v": FORMAT_VERSION,
        **({} if baseline.after_step is None else {"after_step": baseline.after_step}),
        "made_with": dict(baseline.made_with),
        "exit_status": baseline.exit_status,
        "compile_s": baseline.compile_s,
        "totals": dict(baseline.totals),
        "findings": {
            identity: {"severity": known.severity, "rule": known.rule, "counts": dict(known.counts)}
            for identity, known in baseline.findings.items()
        },
    }
    return json.dumps(data, indent=2, sort_keys=True) + "\n"


def _parsed(data: Mapping[str, Any]) -> Baseline:
    spent, status, after = data["compile_s"], data["exit_status"], data.get("after_step")
    return Baseline(
        made_with={str(k): str(v) for k, v in data["made_with"].items()},
        totals={str(k): int(v) for k, v in data["totals"].items()},
        compile_s=None if spent is None else float(spent),
        exit_status=None if status is None else int(status),
        findings={str(identity): _known(known) for identity, known in data["findings"].items()},
        after_step=None if after is None else int(after),
    )


def _known(data: Mapping[str, Any]) -> Known:
    severity = data["severity"]
    if severity not in SEVERITIES:
        raise ValueError(f"unknown severity {severity!r}")
    return Known(severity, str(data["rule"]), {str(k): int(v) for k, v in data["counts"].items()})
