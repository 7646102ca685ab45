"""Sites of graph breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, known_first
from compilescope.views.tui._words import number, one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import GraphBreak, Report

_AFTER = {
    "resumable": "the rest of the function is compiled as a graph of its own",
    "tail_skipped": "the rest of the function runs eagerly",
    "frame_skipped": "the whole function runs eagerly",
}


def _card(row: GraphBreak) -> Card:
    return Card(
        title=row.reason,
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        code=row.code,
        facts=[
            ("runs", _runs(row)),
            ("events", number(row.events)),
            ("afterwards", "; ".join(_AFTER.get(how, how) for how in row.resume)),
            ("cause", ", ".join(row.causes)),
            ("torch calls it", ", ".join([*row.gb_types, *row.gb_ids])),
            ("code of", "a library, not yours" if row.library else None),
        ],
        notes=[row.hint],
        lists=[("called through", row.call_path)],
        compile_ids=row.compile_ids,
    )


def _runs(row: GraphBreak) -> str:
    if row.runtime_hits is None:
        return "unknown: nothing counted this line"
    basis = f" ({row.runtime_hits_basis})" if row.runtime_hits_basis else ""
    return f"{row.runtime_hits:,}{basis}"


def _rows(report: Report) -> list[GraphBreak]:
    return report.graph_breaks


BREAKS: Table[GraphBreak] = Table(
    rows=_rows,
    columns=(
        Column(
            "runs",
            lambda row: number(row.runtime_hits),
            width=9,
            right=True,
            sort=lambda row: known_first(row.runtime_hits),
            about="how often the program left a graph here (counted); ? is unknown",
        ),
        Column(
            "events",
            lambda row: number(row.events),
            width=7,
            right=True,
            above=90,
            sort=lambda row: row.events,
            about="how often torch recorded the break while compiling",
        ),
        Column(
            "why",
            lambda row: one_line(row.reason, 300),
            share=5,
            sort=lambda row: row.reason,
            about="the reason in plain words",
        ),
        Column(
            "where",
            lambda row: place(row.file, row.line),
            share=4,
            cut="left",
            sort=lambda row: (row.file, row.line),
            about="the user's line",
        ),
        Column("function", lambda row: row.function, share=2, above=100, sort=lambda row: row.function),
        Column("code", lambda row: one_line((row.code or "").strip(), 300), share=4, above=140),
    ),
    card=_card,
    key=lambda row: (row.process, row.file, row.line),
    empty=lambda report: nothing(
        report, "No graph break was recorded: every compiled function became one graph."
    ),
)
