"""What the summary leaves out, on request: one function in full, all graphs, all guards, all rungs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.analysis.worst import ran
from compilescope.units import count, percent, seconds, size
from compilescope.views.text._caches import cache_lines
from compilescope.views.text._columns import table
from compilescope.views.text._guards import at, guard_blocks, number
from compilescope.views.text._page import Page

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame, Graph, Report, Specialization
    from compilescope.analysis.report_graph import SourceLine
    from compilescope.analysis.report_run import Bucket

_BAR_CELLS = 24
_MOST_SIZES = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """``frame``: only functions of that name, with or without their class, or a place ``file.py:12``."""

    frame: str | None = None
    graphs: bool = False
    guards: bool = False
    buckets: bool = False


def render_details(report: Report, wanted: Wanted, *, width: int = 80, ascii: bool = False) -> str:
    """As many lines as it takes, at most ``width`` columns each. Raises LookupError: no such frame."""
    page = Page(max(width, 60), ascii)
    frames = [frame for frame in report.frames if _is_of(frame, wanted.frame)]
    if wanted.frame is not None and not frames:
        raise LookupError(wanted.frame)
    keys = {(frame.process, frame.file, frame.line) for frame in frames}
    graphs = [g for g in report.graphs if wanted.frame is None or (g.process, g.file, g.line) in keys]
    blocks: list[list[str]] = []
    if wanted.frame is not None and not (wanted.graphs or wanted.guards):
        blocks += [_frame(report, frame, page) for frame in frames]
        wanted = Wanted(wanted.frame, graphs=True)
    if wanted.graphs:
        blocks += _graphs(graphs, page)
        blocks += [cache_lines(report.caches, page)] if wanted.frame is None else []
    if wanted.guards:
        blocks += guard_blocks(report, graphs, page, listed=wanted.frame is not None)
    if wanted.buckets:
        blocks.append(_buckets(report, page))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _is_of(frame: Frame, name: str | None) -> bool:
    if name is None:
        return False
    place = f"{frame.file}:{frame.line}"
    return name in (frame.function, frame.function.rpartition(".")[2], place, place.rpartition("/")[2])


def _frame(report: Report, frame: Frame, page: Page) -> list[str]:
    resumed = f", resumed at {frame.resumed_at}" if frame.resumed_at is not None else ""
    calls = f"{count(frame.compiled_calls, 'compiled call')}, {count(frame.eager_calls, 'eager call')}"
    facts = [
        ("status", frame.status),
        ("calls", calls),
        ("compiles", f"{count(len(frame.compile_ids), 'compile')}, {seconds(frame.compile_s)}"),
        ("from", frame.called_from),
    ]
    key = (frame.process, frame.file, frame.line)
    for phases in report.phases.frames:
        if (phases.process, phases.file, phases.line) == key:
            facts += [("phases", _spent(phases.forward)), ("backward", _spent(phases.backward))]
    facts += [
        ("break", f"{b.file}:{b.line} {b.reason} (ran {ran(b)})")
        for b in report.graph_breaks
        if (b.process, b.file, b.function) == (frame.process, frame.file, frame.function)
    ]
    facts += [
        ("recompile", f"{r.source} ({count(r.count, 'time')}, {seconds(r.wasted_compile_s)})")
        for r in report.recompiles
        if (r.process, r.file, r.function) == (frame.process, frame.file, frame.function)
    ]
    lines = [page.clip(page.clean(f"{frame.function}{resumed}  {frame.file}:{frame.line}"), page.width)]
    for label, text in facts:
        lines += page.hanging(f"  {label}", text, 13, 3) if text else []
    return [*lines, *_sizes_of(report, key, page)]


def _spent(phases: dict[str, float]) -> str:
    ranked = sorted(phases.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds(spent_s)}" for name, spent_s in ranked)


def _sizes_of(report: Report, key: tuple[str, str, int], page: Page) -> Iterator[str]:
    for found in report.sizes:
        if (found.process, found.file, found.line) != key or not found.rows:
            continue
        most = max(row.count for row in found.rows)
        rows = [
            [
                ", ".join(f"{name}={value}" for name, value in row.values.items()),
                f"{row.count:,}",
                percent(row.count, found.seen_calls),
                row.basis,
                "#" * max(round(_BAR_CELLS * row.count / most), 1) if most else "",
            ]
            for row in found.rows[:_MOST_SIZES]
        ]
        yield "  sizes"
        yield from table(page, ["size", ">calls", ">share", "basis", ""], rows, indent=4)
        left = len(found.rows) - len(rows) + found.more.get("rows", 0)
        if left:
            yield f"    and {left:,} more sizes"


def _graphs(graphs: Sequence[Graph], page: Page) -> list[list[str]]:
    if not graphs:
        return [["No graph was recorded."]]
    heads = ["graph", "function", "kind", ">ops", ">calls", ">kernels", ">compile", "caches"]
    rows = [
        [
            f"[{g.compile_id}]",
            g.function,
            g.direction or ("backward" if g.backward else g.backend or ""),
            number(g.ops),
            number(g.calls),
            "" if g.kernels is None else f"{sum(g.kernels.values()):,}",
            seconds(g.compile_s),
            ", ".join(_caches(g)),
        ]
        for g in graphs
    ]
    return [["GRAPHS", *table(page, heads, rows)], *(_graph(g, page) for g in graphs)]


def _caches(graph: Graph) -> Iterator[str]:
    for cache, outcome in graph.cache.items():
        said = ", ".join(outcome) if isinstance(outcome, dict) else str(outcome)
        yield f"{cache.removesuffix('_graph')} {said}"


def _graph(graph: Graph, page: Page) -> list[str]:
    """Its symbols, what was fixed, its kernels; nothing for a graph that has none of these."""
    symbols = [
        [
            s.symbol,
            ", ".join(s.sources) if s.backed else "data",
            s.range or "",
            _hint(s.hint),
            at(s.created_at),
        ]
        for s in graph.symbols
    ] or [
        [p.expr or p.name, p.source or "", p.range or "", _hint(p.hint), ""]
        for p in graph.placeholders
        if p.kind in ("symint", "symfloat")
    ]
    kernels = [
        [k.name, k.kind, f"{k.launches:,}", ", ".join(k.ops), _first(k.lines)] for k in graph.kernel_rows
    ]
    facts: list[tuple[str, Iterable[str]]] = [
        ("fixed", (f"{s.source} = {s.value}, {_why_fixed(s)}" for s in graph.specializations)),
        ("guard", (f"{guard.expr}  {at(guard.at)}" for guard in graph.symbol_guards)),
        ("tuned", (f"{a.op}: {a.winner or 'none'} won" + _margin(a.margin) for a in graph.autotune)),
        ("memory", _memory(graph)),
    ]  # fmt: skip
    lines = [
        line for label, texts in facts for text in texts for line in page.hanging(f"  {label}", text, 10, 2)
    ]
    if symbols:
        lines = [*table(page, ["symbol", "source", "range", "hint", "made at"], symbols), *lines]
    if kernels:
        lines += table(page, ["kernel", "kind", ">launches", "ops", "lines"], kernels)
        lines += _rest(graph.more.get("kernel_rows"), "kernels")
    title = f"[{graph.compile_id}] {graph.function}" + (" backward" if graph.backward else "")
    return [page.clip(page.clean(title), page.width), *lines] if lines else []


def _rest(left: int | None, what: str) -> list[str]:
    return [f"  and {left:,} more {what}"] if left else []


def _why_fixed(fixed: Specialization) -> str:
    reason = fixed.reason or "why is unknown"
    reason += f", as is {fixed.partner}" if fixed.partner else ""
    return f"{reason}  {fixed.file.rpartition('/')[2]}:{fixed.line}" if fixed.file else reason


def _memory(graph: Graph) -> Iterator[str]:
    plan, aot = graph.memory, graph.aot
    if plan is not None:
        yield f"peak {size(plan.peak_bytes)}, {count(plan.allocations, 'allocation')}"
    if aot is not None and aot.saved_count:
        yield f"{count(aot.saved_count, 'activation')} saved for the backward, {size(aot.saved_bytes)}"


def _margin(margin: float | None) -> str:
    return "" if margin is None else f", the next takes {margin:.2f} times as long"


def _buckets(report: Report, page: Page) -> list[str]:
    if not report.buckets:
        return []
    rows = [
        [
            f"[{b.graph}]",
            b.rung or b.kind,
            b.kind,
            "" if b.refused else number(b.hits),
            "" if b.padded_rows is None else f"{b.padded_rows:,}",
            "" if b.compile_s is None else seconds(b.compile_s),
        ]
        for b in report.buckets
    ]
    heads = ["graph", "rung", "kind", ">hits", ">padded", ">compile"]
    tellers = (_standing, _cost, _cuda_graph)
    notes = [f"{b.rung}: {note}" for b in report.buckets for tell in tellers if (note := tell(b))]
    told = [line for note in notes for line in page.hanging("", note, 2, 3)]
    return ["BUCKETS", *table(page, heads, rows), *told]


def _cost(rung: Bucket) -> str:
    if not rung.padded_rows or rung.padded_share is None:
        return ""
    copied = "" if rung.copied_bytes is None else f", {size(rung.copied_bytes)} copied"
    return f"{percent(rung.padded_share, 1)} of its rows were padding, an estimate of its device time{copied}"


def _cuda_graph(rung: Bucket) -> str:
    if rung.cuda_graph_skip and rung.kind in ("pin", "pad"):
        return f"no CUDA graph: {rung.cuda_graph_skip}"
    if not rung.cuda_graphs:
        return ""
    copied = "" if rung.replay_bytes is None else f", {size(rung.replay_bytes)} copied by a replay"
    pieces = f" as {count(rung.graphs_each, 'graph')}" if rung.graphs_each not in (None, 1) else ""
    return f"CUDA graph, recorded {count(rung.cuda_graphs, 'time')}{pieces}{copied}"


def _standing(rung: Bucket) -> str:
    if rung.refused:
        at = f", from {rung.user_line}" if rung.user_line else ""
        return f"refused, {rung.refused}: {rung.guard or 'the guard is unknown'}{at}"
    return f"failed: {rung.failed}" if rung.failed else ""


def _hint(value: int | float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _first(lines: Sequence[SourceLine]) -> str:
    more = f" +{len(lines) - 1}" if len(lines) > 1 else ""
    return at(lines[0]) + more if lines else ""
