"""Causes of recompiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, known_first
from compilescope.views.tui._words import chain, number, one_line, place, value
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import GuardChange, Recompile, Report


def _card(row: Recompile) -> Card:
    return Card(
        title=f"{called(row.function)} was compiled again because {row.source} changed",
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        code=row.code,
        facts=[
            ("changed", chain(row.changes, 9)),
            ("kind", ", ".join(filter(None, [row.kind, row.value_type]))),
            ("held by", row.holder and row.holder.replace("_", " ")),
            ("recompiles", number(row.count)),
            ("refused", _refused(row)),
            ("compile time", seconds(row.wasted_compile_s) if row.wasted_compile_s is not None else None),
            ("caused by", row.caused_by and f"the graph break at {row.caused_by}"),
            ("called from", row.called_from),
            ("thread", row.thread),
            ("torch blames it", f"{row.named_by_torch} times" if row.named_by_torch else None),
        ],
        notes=["This recompile made a size dynamic: later sizes need none." if row.benign else None],
        lists=[
            ("also failed", [_change(change) for change in row.also_failed]),
            ("changed to a known value", [_change(change) for change in row.also_changed]),
        ],
        left={
            "also failed": row.more.get("also_failed"),
            "changed to a known value": row.more.get("also_changed"),
        },
        compile_ids=row.compile_ids,
    )


def _refused(row: Recompile) -> str | None:
    if not row.blocked_by_limit:
        return None
    how = f": {chain(row.blocked_changes)}" if row.blocked_changes else ""
    return f"{row.blocked_by_limit} by the recompile limit{how}"


def _change(change: GuardChange) -> str:
    return f"{change.source}  {value(change.old)} -> {value(change.new)}"


def _rows(report: Report) -> list[Recompile]:
    return report.recompiles


RECOMPILES: Table[Recompile] = Table(
    rows=_rows,
    columns=(
        Column(
            "times",
            lambda row: number(row.count),
            width=6,
            right=True,
            sort=lambda row: row.count,
            about="recompiles in which this value had changed",
        ),
        Column(
            "refused",
            lambda row: number(row.blocked_by_limit) if row.blocked_by_limit else "",
            width=8,
            right=True,
            sort=lambda row: row.blocked_by_limit,
            tone=lambda _row: "bad",
            about="compiles that the recompile limit refused: those calls ran eagerly",
        ),
        Column(
            "cause",
            lambda row: one_line(row.source, 300),
            share=4,
            sort=lambda row: row.source,
            about="the guarded value that differed",
        ),
        Column(
            "old -> new",
            lambda row: one_line(chain(row.changes, 4), 300),
            share=4,
            above=70,
            about="values at the earlier compile and at this one",
        ),
        Column(
            "kind",
            lambda row: row.kind,
            width=17,
            above=105,
            sort=lambda row: row.kind,
            about="what sort of change it was",
        ),
        Column(
            "cost",
            lambda row: seconds(row.wasted_compile_s),
            width=9,
            right=True,
            sort=lambda row: known_first(row.wasted_compile_s),
            about="time spent on these recompiles (measured)",
        ),
        Column(
            "where",
            lambda row: place(row.file, row.line),
            share=4,
            cut="left",
            sort=lambda row: (row.file, row.line),
            about="the line that made the guard",
        ),
        Column("function", lambda row: row.function, share=2, above=140, sort=lambda row: row.function),
    ),
    card=_card,
    key=lambda row: (row.process, row.file, row.line, row.function, row.source, row.kind),
    empty=lambda report: nothing(
        report, "No recompile was recorded: every call fitted code compiled before."
    ),
)
