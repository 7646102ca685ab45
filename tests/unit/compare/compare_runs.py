"""Runs to compare: small ones made by hand, and those of the corpus."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import builders

from compilescope.advice.finding import Amount, Finding
from compilescope.analysis.report import Frame, Graph, Placeholder, Report
from compilescope.compare import Recorded, recorded
from compilescope.model import load
from compilescope.recording import open_recording

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"
CASES = sorted(p.stem for p in RECORDINGS.glob("*.zip") if not p.stem.endswith("_fixed"))


def made(
    findings: tuple[Finding, ...] = (), sources: dict[str, str] | None = None, **fields: Any
) -> Recorded:
    """A run with the given fields of its report."""
    return Recorded(replace(builders.empty(), **fields), findings, sources or {})


def of(report: Report) -> Recorded:
    return Recorded(report, ())


@lru_cache(maxsize=8)
def corpus(name: str) -> Recorded:
    return recorded(load(open_recording(RECORDINGS / f"{name}.zip")))


def finding(
    rule: str = "size_drift",
    file: str | None = "train.py",
    line: int = 3,
    subject: str = "x.size(0)",
    severity: Any = "medium",
    **cost: Any,
) -> Finding:
    """``cost``: counts, or an ``Amount``."""
    amounts = {k: v if isinstance(v, Amount) else Amount(v, "counted", "") for k, v in cost.items()}
    return Finding(
        rule=rule,
        severity=severity,
        file=file,
        line=line,
        function="step",
        summary=f"{rule} at {subject}",
        fix="change it",
        fix_kind="change",
        identity=f"{rule}|{file}|step|{subject}",
        cost=amounts,
    )


def frame(
    line: int = 3, resumed_at: int | None = None, ids: tuple[str, ...] = ("0/0",), **fields: Any
) -> Frame:
    row = Frame("step", "train.py", line, list(ids), 1, 4, 3, 0, 0.1, 0, 0, "compiled", "p", resumed_at)
    return replace(row, **fields)


def graph(compile_id: str = "0/0", line: int = 3, ops: int = 4, sizes: Any = (8, 16), **fields: Any) -> Graph:
    x = Placeholder("x", "tensor", "x", "float32", list(sizes), None, "cpu")
    row = Graph(0, compile_id, "step", "train.py", line, ops, 3, False, 0.1, "p", placeholders=[x])
    return replace(row, **fields)
