"""What to fix first: the ranked facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone
from compilescope.views.tui._words import one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Report, Worst

KINDS = {
    "limit_hit": "limit",
    "graph_break": "break",
    "recompile": "recompile",
    "failure": "failure",
    "skip": "skip",
}


def _tone(row: Worst) -> Tone:
    return "bad" if row.kind in ("limit_hit", "failure") else ""


def _card(row: Worst) -> Card:
    return Card(
        title=row.title,
        file=row.file,
        line=row.line,
        function=row.function,
        code=row.code,
        facts=[
            ("kind", KINDS.get(row.kind, row.kind)),
            ("seen", row.detail),
            ("cost", row.cost),
            ("called from", row.called_from),
        ],
        notes=[row.note],
    )


def _rows(report: Report) -> list[Worst]:
    return report.worst


FINDINGS: Table[Worst] = Table(
    rows=_rows,
    columns=(
        Column(
            "kind",
            lambda row: KINDS.get(row.kind, row.kind),
            width=9,
            tone=_tone,
            sort=lambda row: row.kind,
            about="what happened: a limit hit, graph break, recompile, failure or skip",
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
            "seen",
            lambda row: one_line(row.detail or "", 300),
            share=3,
            above=110,
            about="what changed, or how often it happened",
        ),
        Column(
            "cost",
            lambda row: one_line(row.cost or "", 300),
            share=3,
            above=150,
            about="measured, counted or estimated, as it says",
        ),
    ),
    card=_card,
    key=lambda row: (row.kind, row.title, row.file, row.line),
    empty=lambda report: nothing(
        report, "Nothing to fix was found: no graph break, recompile or failure was recorded."
    ),
)
