"""Graphs by the sizes they take: placeholders, symbols, what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import percent, seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, known_first
from compilescope.views.tui._words import at, number, one_line, place, value
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, Placeholder, Report, SizeCount, Specialization
    from compilescope.analysis.report_graph import Symbol

_BAR_CELLS = 24
_BLOCKS = " ▏▎▍▌▋▊▉█"


def symbols(graph: Graph) -> list[Placeholder]:
    return [item for item in graph.placeholders if item.kind in ("symint", "symfloat")]


def _card(row: Graph) -> Card:
    missing = [f"{item.fact}: {item.reason}" for item in row.missing]
    return Card(
        title=f"graph of {called(row.function)}, compile [{row.compile_id}]",
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        facts=[
            ("calls", number(row.calls)),
            ("operations", number(row.ops)),
            ("backend", row.backend),
            ("compile time", seconds(row.compile_s) if row.compile_s is not None else None),
            ("direction", _direction(row)),
            ("caches", ", ".join(f"{cache} {_outcome(outcome)}" for cache, outcome in row.cache.items())),
            ("kernels", ", ".join(f"{n} {kind}" for kind, n in (row.kernels or {}).items() if n)),
        ],
        lists=[
            ("sizes that change", [_symbol(item) for item in symbols(row)]),
            ("sizes seen", histogram(row.sizes_seen or ())),
            ("sizes fixed while compiling", [_fixed(item) for item in row.specializations]),
            ("symbols", [_created(item) for item in row.symbols]),
            ("conditions on them", [f"{item.expr}  {at(item.at)}".rstrip() for item in row.symbol_guards]),
            ("tensors", [_tensor(item) for item in row.placeholders if item.kind == "tensor"]),
            ("phases", [f"{name}  {seconds(spent_s)}" for name, spent_s in row.phases.items()]),
            ("not captured", missing),
        ],
        compile_ids=[row.compile_id],
    )


def _direction(row: Graph) -> str | None:
    """'forward', 'backward, compiled lazily'"""
    direction = row.direction or ("backward" if row.backward else None)
    how = row.backward_compiled
    return f"{direction}, compiled {how}" if direction and how else direction


def _outcome(outcome: object) -> str:
    """'miss', or counted outcomes as '1 hit, 2 miss'."""
    if isinstance(outcome, Mapping):
        return ", ".join(f"{n} {name}" for name, n in outcome.items())
    return str(outcome)


def histogram(sizes: Sequence[SizeCount]) -> list[str]:
    """A line per size, the most frequent first, with its share and a bar."""
    ordered = sorted(sizes, key=lambda size: -size.count)
    total = sum(size.count for size in ordered)
    names = [
        ", ".join(f"{symbol}={n}" for symbol, n in size.values.items()) or "other sizes" for size in ordered
    ]
    width = min(max(map(len, names), default=0), 40)
    return [
        f"{name:<{width}} {size.count:>9,} {percent(size.count, total):>5}"
        f"  {bar(size.count, ordered[0].count)}"
        for name, size in zip(names, ordered, strict=True)
    ]


def bar(part: float, whole: float, cells: int = _BAR_CELLS) -> str:
    """``part`` of ``whole`` in eighths of a cell; something is never drawn as nothing."""
    eighths = max(round(8 * cells * part / whole), 1) if whole > 0 and part > 0 else 0
    return _BLOCKS[8] * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def _symbol(item: Placeholder) -> str:
    parts = [item.expr or item.name, item.source and f"= {item.source}", item.range and f"in {item.range}"]
    hint = "" if item.hint is None else f"compiled at {value(item.hint)}"
    return "  ".join(part for part in [*parts, hint] if part)


def _created(item: Symbol) -> str:
    """Sources that were equal when traced are tied together."""
    sources = " = ".join(item.sources) if item.backed else "data, not known before the call"
    where = f"made at {at(item.created_at)}" if item.created_at else ""
    return "  ".join(filter(None, [item.symbol, sources, item.range and f"in {item.range}", where]))


def _fixed(item: Specialization) -> str:
    where = place(item.file, item.line)
    return f"{item.source} = {item.value}" + "".join(f"  {part}" for part in (item.reason, where) if part)


def _tensor(item: Placeholder) -> str:
    shape = "[" + ", ".join(str(size) for size in item.shape or []) + "]" if item.shape is not None else "[?]"
    dtype = (item.dtype or "").removeprefix("torch.")
    return "  ".join(part for part in (item.source or item.name, dtype + shape, item.device) if part)


def _changing(row: Graph) -> str:
    """The symbols of a graph. Placeholders are unknown, not none, where nothing of them was recorded."""
    if not symbols(row):
        return "none: all fixed" if row.placeholders or row.sizes_seen is not None else "?"
    return ", ".join(f"{item.expr or item.name} {item.source or ''}".strip() for item in symbols(row)[:8])


def _tensors(row: Graph) -> int | None:
    return sum(item.kind == "tensor" for item in row.placeholders) if row.placeholders else None


def _distinct(row: Graph) -> int | None:
    return None if row.sizes_seen is None else len(row.sizes_seen)


def _common(row: Graph) -> str:
    lines = histogram((row.sizes_seen or [])[:2000])
    return lines[0] if lines else ""


def _rows(report: Report) -> list[Graph]:
    """Graphs whose sizes change come first: the others have nothing to say about sizes."""
    return sorted(report.graphs, key=lambda graph: not symbols(graph))


SHAPES: Table[Graph] = Table(
    rows=_rows,
    columns=(
        Column(
            "compile", lambda row: f"[{row.compile_id}]", width=9, about="torch's compile id: frame/recompile"
        ),
        Column("function", lambda row: row.function, share=3, sort=lambda row: row.function),
        Column(
            "sizes that change",
            lambda row: one_line(_changing(row), 300),
            share=4,
            sort=lambda row: len(symbols(row)),
            tone=lambda row: "" if symbols(row) else "faint",
            about="symbols of this graph and where their values come from",
        ),
        Column(
            "seen",
            lambda row: number(_distinct(row)),
            width=6,
            right=True,
            sort=lambda row: known_first(_distinct(row)),
            about="distinct sizes seen at run time; ? is unknown",
        ),
        Column(
            "fixed",
            lambda row: number(len(row.specializations)),
            width=6,
            right=True,
            above=70,
            sort=lambda row: len(row.specializations),
            about="sizes that the compile made constants",
        ),
        Column(
            "calls",
            lambda row: number(row.calls),
            width=9,
            right=True,
            sort=lambda row: known_first(row.calls),
        ),
        Column(
            "tensors",
            lambda row: number(_tensors(row)),
            width=8,
            right=True,
            above=110,
            sort=lambda row: len(row.placeholders),
            about="tensors the graph takes",
        ),
        Column(
            "compile time",
            lambda row: seconds(row.compile_s),
            width=13,
            right=True,
            above=110,
            sort=lambda row: known_first(row.compile_s),
        ),
        Column("most frequent size", _common, share=5, above=150),
        Column(
            "where",
            lambda row: place(row.file, row.line),
            share=3,
            cut="left",
            above=90,
            sort=lambda row: (row.file, row.line),
        ),
    ),
    card=_card,
    key=lambda row: (row.process, row.epoch, row.compile_id, row.function, row.line, row.backward, row.code),
    empty=lambda report: nothing(
        report, "No graph was recorded: nothing that was compiled had operations on tensors."
    ),
)
