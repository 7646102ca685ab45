"""What is checked before each call of compiled code, dearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import microseconds, seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, known_first
from compilescope.views.tui._words import at, number, one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, Report


def _spent_s(graph: Graph) -> float | None:
    hot_us = graph.guards.hot_check_us if graph.guards else None
    return None if hot_us is None or graph.calls is None else hot_us * graph.calls * 1e-6


def _rows(report: Report) -> list[Graph]:
    known = [graph for graph in report.graphs if graph.guards is not None]
    return sorted(known, key=lambda graph: -(_spent_s(graph) or 0.0))


def _count(graph: Graph) -> int | None:
    return graph.guards.count if graph.guards else None


def _hot_us(graph: Graph) -> float | None:
    return graph.guards.hot_check_us if graph.guards else None


def _check(value_us: float | None) -> str:
    return "?" if value_us is None else microseconds(value_us)


def _kinds(graph: Graph) -> list[str]:
    kinds = graph.guards.by_kind if graph.guards else {}
    return [f"{n:,} {kind}" for kind, n in sorted(kinds.items(), key=lambda item: -item[1])]


def _card(row: Graph) -> Card:
    guards = row.guards
    rows = guards.rows if guards else []
    cold_us = guards.cold_check_us if guards else None
    listed = [f"{r.source}  {', '.join(r.kinds)}" + (f"  {at(r.at)}" if r.at else "") for r in rows]
    return Card(
        title=f"guards of {called(row.function)}, compile [{row.compile_id}]",
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        facts=[
            ("guards", number(_count(row))),
            (
                "one check",
                f"{_check(_hot_us(row))} with warm caches, {_check(cold_us)} with cold ones",
            ),
            ("all calls", seconds(_spent_s(row)) if _spent_s(row) is not None else None),
        ],
        lists=[
            ("by kind", _kinds(row)),
            ("conditions on sizes", [f"{g.expr}  {at(g.at)}".rstrip() for g in row.symbol_guards]),
            ("what is checked", listed),
        ],
        left={"what is checked": guards.more.get("rows") if guards else None},
        compile_ids=[row.compile_id],
    )


GUARDS: Table[Graph] = Table(
    rows=_rows,
    columns=(
        Column("graph", lambda row: f"[{row.compile_id}]", width=9, about="torch's compile id"),
        Column("function", lambda row: row.function, share=3, sort=lambda row: row.function),
        Column(
            "guards",
            lambda row: number(_count(row)),
            width=8,
            right=True,
            sort=lambda row: known_first(_count(row)),
            about="conditions checked before a call",
        ),
        Column(
            "one check",
            lambda row: _check(_hot_us(row)),
            width=11,
            right=True,
            sort=lambda row: known_first(_hot_us(row)),
            about="one pass over all of them with warm caches, timed by torch when it compiled",
        ),
        Column(
            "calls",
            lambda row: number(row.calls),
            width=9,
            right=True,
            sort=lambda row: known_first(row.calls),
        ),
        Column(
            "all calls",
            lambda row: seconds(_spent_s(row)) if _spent_s(row) is not None else "?",
            width=11,
            right=True,
            above=70,
            sort=lambda row: known_first(_spent_s(row)),
            about="one check times the calls",
        ),
        Column("kinds", lambda row: one_line(", ".join(_kinds(row)), 300), share=3, above=110),
        Column("where", lambda row: place(row.file, row.line), share=3, cut="left", above=90),
    ),
    card=_card,
    key=lambda row: (row.process, row.epoch, row.compile_id, row.function, row.line, row.backward, row.code),
    empty=lambda report: nothing(
        report, "No guard was recorded: this recording does not tell what is checked."
    ),
)
