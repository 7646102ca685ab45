"""What to fix first: what the rules found, ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.views.finding_words import FindingWords, all_findings
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone
from compilescope.views.tui._words import one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Report

KINDS = {
    "limit_hit": "limit",
    "graph_break": "break",
    "recompile": "recompile",
    "failure": "failure",
    "skip": "skip",
}
_SEVERITIES = ("critical", "high", "medium", "low", "note")
_TONES: dict[str, Tone] = {"critical": "bad", "high": "bad", "medium": "warn", "note": "faint"}


def _how_bad(row: FindingWords) -> str:
    """The severity; a fact that no rule rated has its kind."""
    return row.severity if row.rule else KINDS.get(row.kind, row.kind)


def _tone(row: FindingWords) -> Tone:
    if row.rule:
        return _TONES.get(row.severity, "")
    return "bad" if row.kind in ("limit_hit", "failure") else ""


def _rank(row: FindingWords) -> int:
    return -_SEVERITIES.index(row.severity) if row.severity in _SEVERITIES else -len(_SEVERITIES)


def _card(row: FindingWords) -> Card:
    return Card(
        title=row.title,
        file=row.file,
        line=row.line,
        function=row.function,
        code=row.code,
        facts=[
            ("severity", row.severity if row.rule else None),
            ("fix", row.fix),
            ("cost", row.cost or None),
            ("saves", row.saving),
            ("called from", row.called_from),
        ],
        notes=[one_line(" ".join(note.split())) for note in row.notes],
        lists=[
            ("the command", [row.command] if row.command else []),
            ("the change", (row.diff or "").splitlines()),
            ("what changed", row.changes),
            ("seen at", row.sites),
            ("how sure", _doubts(row)),
            ("what the costs rest on", [f"{figure}: {basis}" for figure, basis in row.costs if basis]),
        ],
        compile_ids=row.compile_ids,
    )


def _doubts(row: FindingWords) -> list[str]:
    return [
        *([f"confidence: {row.confidence}"] if row.confidence else []),
        *([f"could be wrong: {row.could_be_wrong}"] if row.could_be_wrong else []),
        *([f"tried, {row.verified}"] if row.verified else []),
        *([f"rule: {row.rule}, explained in {row.page}"] if row.rule else []),
    ]


def fixable(report: Report) -> list[FindingWords]:
    return [finding for finding in all_findings(report) if finding.severity != "note"]


FINDINGS: Table[FindingWords] = Table(
    rows=all_findings,
    columns=(
        Column(
            "severity",
            _how_bad,
            width=9,
            tone=_tone,
            sort=_rank,
            about="critical, high, medium, low, or a note: seen, and nothing to fix",
        ),
        Column(
            "finding",
            lambda row: one_line(row.title, 300),
            share=5,
            about="the fact in one sentence, worst first",
        ),
        Column(
            "where",
            lambda row: place(row.file, row.line),
            share=3,
            cut="left",
            sort=lambda row: (row.file or "", row.line or 0),
            about="the user's line",
        ),
        Column(
            "fix",
            lambda row: one_line(row.fix or "", 300),
            share=4,
            above=110,
            about="what to change",
        ),
        Column(
            "cost",
            lambda row: one_line(row.cost, 300),
            share=3,
            above=150,
            about="measured, counted or estimated, as it says",
        ),
    ),
    card=_card,
    key=lambda row: (row.rule, row.kind, row.title, row.file, row.line),
    empty=lambda report: nothing(
        report, "Nothing to fix was found: no graph break, recompile or failure was recorded."
    ),
)
