"""What Inductor made of the graphs: a row a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.units import seconds, size
from compilescope.views.finding_words import fact_words
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, known_first
from compilescope.views.tui._words import at, number, one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, Report
    from compilescope.analysis.report_graph import Autotuning, KernelRow


@dataclass(frozen=True, slots=True)
class Entry:
    graph: Graph
    kernel: KernelRow


def _rows(report: Report) -> list[Entry]:
    return [Entry(graph, kernel) for graph in report.graphs for kernel in graph.kernel_rows]


def _card(row: Entry) -> Card:
    graph, kernel = row.graph, row.kernel
    first = kernel.lines[0] if kernel.lines else None
    moved = None if kernel.bytes_moved is None else size(kernel.bytes_moved)
    return Card(
        title=kernel.name,
        file=first.file if first else graph.file,
        line=first.line if first else graph.line,
        function=graph.function,
        process=graph.process,
        code=first.code if first else None,
        facts=[
            ("kind", ", ".join(filter(None, [kernel.kind, kernel.library, kernel.template]))),
            ("launches", f"{kernel.launches:,} a call, {number(graph.calls)} calls of the graph"),
            ("ops", ", ".join(kernel.ops)),
            ("fused into it", ", ".join(kernel.epilogue)),
            ("shapes", ", ".join(kernel.shapes)),
            ("dtypes", ", ".join(kernel.dtypes)),
            ("device", kernel.device),
            ("grid", kernel.grid),
            ("config", ", ".join(f"{name}={value}" for name, value in kernel.config.items())),
            ("bytes moved", " = ".join(filter(None, [moved, kernel.bytes_moved_expr]))),
        ],
        lists=[
            ("lines", [at(line) for line in kernel.lines]),
            ("fusion of the graph", _fusion(graph)),
            ("memory of the graph", _memory(graph)),
            *((f"tuning of {choice.op}", _tuning(choice)) for choice in graph.autotune),
            ("not listed of the graph", _not_listed(graph)),
            ("not captured", [f"{fact_words(item.fact)}: {item.reason}" for item in graph.missing]),
        ],
        compile_ids=[graph.compile_id],
    )


def _fusion(graph: Graph) -> list[str]:
    found = graph.fusion
    if found is None:
        return []
    nodes = f"{number(found.nodes_before)} nodes before, {number(found.nodes_after)} after"
    missed = [
        f"not fused: {m.pointwise} alone reads {m.producer}" + "".join(f"  {at(x)}" for x in m.lines[:1])
        for m in found.missed_epilogues
    ]
    return [
        nodes,
        f"bytes moved: {size(found.bytes_eager)} with every op alone, {size(found.bytes_after)} fused",
        *missed,
    ]


def _memory(graph: Graph) -> list[str]:
    plan, aot = graph.memory, graph.aot
    lines = []
    if plan is not None:
        lines.append(f"peak {size(plan.peak_bytes)} at {plan.peak_after or '?'}")
        lines += [f"live: {b.name}  {size(b.size_bytes)}  {b.written_by or ''}" for b in plan.live_at_peak]
    if aot is not None and aot.saved_count:
        lines.append(f"saved for the backward: {aot.saved_count:,} activations, {size(aot.saved_bytes)}")
    return lines


def _not_listed(graph: Graph) -> list[str]:
    """What its lists leave out: they hold the largest, and these are the smaller ones."""
    parts = (("", graph), ("fusion: ", graph.fusion), ("memory: ", graph.memory), ("autograd: ", graph.aot))
    return [
        f"{what}{left:,} more {name.replace('_', ' ')}"
        for what, part in parts
        if part is not None
        for name, left in part.more.items()
    ]


def _tuning(choice: Autotuning) -> list[str]:
    lines = []
    for candidate in choice.choices:
        time = (
            "failed"
            if candidate.failed
            else "?"
            if candidate.time_ms is None
            else f"{candidate.time_ms:.4g} ms"
        )
        lines.append(f"{candidate.name}  {candidate.backend}  {time}")
    left = choice.more.get("choices", 0)
    lines += [f"and {left:,} more candidates"] if left else []
    if choice.tuning_s is not None:
        took = f"took {seconds(choice.tuning_s)}"
        again = f", {seconds(choice.compiled_s)} of it compiling {choice.compiled} of them"
        lines.append(took + again if choice.compiled_s is not None and choice.compiled else took)
    return lines


def _empty(report: Report) -> str:
    if any(graph.kernels is not None for graph in report.graphs):
        return "No kernel was recorded: the graphs run none, or their code was not kept."
    backends = sorted({graph.backend for graph in report.graphs if graph.backend})
    used = f" The backend was {', '.join(backends[:4])}." if backends else ""
    return nothing(report, f"No kernel was recorded: only Inductor's code tells which a graph runs.{used}")


KERNELS: Table[Entry] = Table(
    rows=_rows,
    columns=(
        Column("graph", lambda row: f"[{row.graph.compile_id}]", width=9, about="torch's compile id"),
        Column("kernel", lambda row: row.kernel.name, share=4, sort=lambda row: row.kernel.name),
        Column("kind", lambda row: row.kernel.kind, share=2, sort=lambda row: row.kernel.kind),
        Column(
            "launches",
            lambda row: number(row.kernel.launches),
            width=9,
            right=True,
            sort=lambda row: row.kernel.launches,
            about="in one call of the graph",
        ),
        Column(
            "bytes moved",
            lambda row: size(row.kernel.bytes_moved) if row.kernel.bytes_moved is not None else "?",
            width=12,
            right=True,
            above=90,
            sort=lambda row: known_first(row.kernel.bytes_moved),
            about="read and written in one call; ? is unknown",
        ),
        Column("ops", lambda row: one_line(", ".join(row.kernel.ops), 300), share=3, above=110),
        Column(
            "where",
            lambda row: place(row.kernel.lines[0].file, row.kernel.lines[0].line) if row.kernel.lines else "",
            share=3,
            cut="left",
            about="the first of the user's lines in it",
        ),
    ),
    card=_card,
    key=lambda row: (row.graph.process, row.graph.epoch, row.graph.compile_id, row.graph.direction,
                     row.graph.code, row.kernel.name, row.kernel.kind),
    empty=_empty,
)  # fmt: skip
