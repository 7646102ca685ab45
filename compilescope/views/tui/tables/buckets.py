"""The rungs of bucket ladders: which calls each served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.units import count, seconds, size
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone, known_first
from compilescope.views.tui._words import number, one_line, place
from compilescope.views.tui.tables._none import nothing
from compilescope.views.tui.tables.shapes import bar

if TYPE_CHECKING:
    from compilescope.analysis.report_run import Bucket


def outcome(row: Bucket) -> str:
    if row.refused:
        return "elsewhere" if row.elsewhere else "refused"
    if row.failed:
        return "failed"
    if not row.live:
        return "dropped"
    return "never hit" if row.hits == 0 else "used" if row.hits else "?"


def _tone(row: Bucket) -> Tone:
    return {
        "refused": "bad",
        "failed": "bad",
        "never hit": "warn",
        "dropped": "faint",
        "elsewhere": "faint",
    }.get(outcome(row), "")  # type: ignore[return-value]


def _sizes(row: Bucket) -> list[str]:
    most = max((seen.count for seen in row.sizes), default=0)
    lines = []
    for seen in row.sizes:
        name = "other sizes" if seen.values is None else ", ".join(f"{k}={n}" for k, n in seen.values.items())
        lines.append(f"{name:<24} {seen.count:>9,}  {bar(seen.count, most)}")
    return lines


def _graphs(row: Bucket) -> str | None:
    if row.cuda_graphs is None:
        return None
    each = "" if row.graphs_each in (None, 1) else f" as {count(row.graphs_each, 'graph')}"
    copied = "" if row.replay_bytes is None else f", {size(row.replay_bytes)} copied by a replay"
    return f"recorded {count(row.cuda_graphs, 'time')}{each}{copied}"


def _card(row: Bucket) -> Card:
    return Card(
        title=f"rung {row.rung or row.kind} of compile [{row.graph or '?'}]",
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        facts=[
            ("outcome", outcome(row)),
            ("kind", row.kind),
            ("hits", number(row.hits)),
            ("padded rows", None if row.padded_rows is None else number(row.padded_rows)),
            ("compile time", None if row.compile_s is None else seconds(row.compile_s)),
            ("cache", row.cache),
            ("kernels", None if row.kernels is None else number(row.kernels)),
            ("refused", row.refused),
            ("no rungs", row.bypassed),
            ("guard", row.guard),
            ("from", row.user_line),
            ("failed", row.failed),
            ("same code as", row.same_code_as),
            ("split from", row.split_from),
            ("CUDA graph", _graphs(row)),
            ("no CUDA graph", row.cuda_graph_skip),
        ],
        lists=[
            ("sizes it served", _sizes(row)),
            (
                "made concrete",
                [f"{name} = [{', '.join(map(str, made))}]" for name, made in row.concretized.items()],
            ),
            ("only when", list(row.predicate)),
        ],
        compile_ids=[row.graph] if row.graph else [],
    )


BUCKETS: Table[Bucket] = Table(
    rows=lambda report: report.buckets,
    columns=(
        Column("graph", lambda row: f"[{row.graph or '?'}]", width=9, about="the captured graph"),
        Column("rung", lambda row: one_line(row.rung or row.kind, 200), share=3, sort=lambda row: row.rung),
        Column("kind", lambda row: row.kind, width=8, sort=lambda row: row.kind),
        Column(
            "outcome",
            outcome,
            width=10,
            tone=_tone,
            sort=outcome,
            about="used, never hit, refused by a guard, elsewhere (another graph has it), failed or dropped",
        ),
        Column(
            "hits",
            lambda row: "" if row.refused else number(row.hits),
            width=9,
            right=True,
            sort=lambda row: known_first(row.hits),
        ),
        Column(
            "padded",
            lambda row: "" if row.padded_rows is None else number(row.padded_rows),
            width=9,
            right=True,
            above=70,
            sort=lambda row: known_first(row.padded_rows),
            about="rows added to reach the rung",
        ),
        Column(
            "compile time",
            lambda row: "" if row.compile_s is None else seconds(row.compile_s),
            width=13,
            right=True,
            above=90,
            sort=lambda row: known_first(row.compile_s),
        ),
        Column("where", lambda row: place(row.file, row.line), share=2, cut="left", above=100),
    ),
    card=_card,
    key=lambda row: (row.process, row.backend, row.graph, row.entry, row.rung, row.kind),
    empty=lambda report: nothing(report, "No bucketed backend was used."),
)
