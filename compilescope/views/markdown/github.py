"""Workflow commands of GitHub Actions: findings beside the lines they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from compilescope.units import visible
from compilescope.views.finding_words import FindingWords, all_findings

if TYPE_CHECKING:
    from compilescope.analysis.report import Report

MOST_PER_LEVEL = 10  # GitHub shows no more of a level in one step, and drops the rest silently
LEVELS = {"critical": "error", "high": "warning", "medium": "warning"}
_LONGEST = 1000


def render(report: Report) -> str:
    """One command a line, worst first; the last of a level says how many more there are."""
    return commands(
        (LEVELS.get(f.severity, "notice"), _message(f), f.file, f.line, f.rule) for f in all_findings(report)
    )


def commands(rows: Iterable[tuple[str, str, str | None, int | None, str | None]]) -> str:
    """Of (level, message, file, line, title), in order within a level: error, warning, notice."""
    by_level: dict[str, list[str]] = defaultdict(list)
    for level, message, file, line, title in rows:
        by_level[level].append(annotation(level, message, file, line, title))
    lines = [line for level in ("error", "warning", "notice") for line in _shown(level, by_level[level])]
    return "".join(line + "\n" for line in lines)


def annotation(
    level: str, message: str, file: str | None = None, line: int | None = None, title: str | None = None
) -> str:
    """``::warning file=train.py,line=12,title=..::text``. A file that is not the repository's has no line."""
    named = {"title": title or "CompileScope"}
    if file is not None and not file.startswith(("/", "<", "~")) and ".." not in file.split("/"):
        named = {"file": file, **({"line": str(line)} if line else {}), **named}
    elif file is not None:
        message = f"{file}{f':{line}' if line else ''}: {message}"
    properties = ",".join(f"{name}={_property(value)}" for name, value in named.items())
    return f"::{level} {properties}::{_data(message)}"


def _shown(level: str, lines: Sequence[str]) -> list[str]:
    if len(lines) <= MOST_PER_LEVEL:
        return list(lines)
    left = len(lines) - MOST_PER_LEVEL + 1
    return [*lines[: MOST_PER_LEVEL - 1], annotation(level, f"and {left} more findings: see the report")]


def _message(finding: FindingWords) -> str:
    parts = [
        finding.title,
        f"Cost: {finding.cost}" if finding.cost else "",
        finding.fix and f"Fix: {finding.fix}",
    ]
    text = "\n".join(part for part in parts if part)[:_LONGEST]
    return f"{text}\n{finding.command}" if finding.command else text


def _data(text: str) -> str:
    shown = visible(text, keep="\n")
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(" ".join(text.split())).replace(":", "%3A").replace(",", "%2C")
