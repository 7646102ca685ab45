"""Rows of a diff as the words a person reads: the same in every view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.units import count

if TYPE_CHECKING:
    from compilescope.compare.diff import (
        ChoiceChange,
        CountRow,
        FindingChange,
        FunctionChange,
        FunctionShape,
        KernelChange,
        KeyRow,
        Place,
        Side,
        SizeRange,
        SizesChange,
    )

_COUNTS = {
    "graph_break_sites": "graph breaks",
    "graph_break_events": "graph break events",
    "blocked_by_limit": "refused compiles",
    "limit_hits": "recompile limit hits",
    "cpp_launches": "C++ kernel launches",
    "cudagraph_recordings": "CUDA graph recordings",
    "cudagraph_skips": "CUDA graph skips",
    "bucket_rungs": "buckets",
    "bucket_rungs_refused": "refused buckets",
    "bucket_rungs_failed": "failed buckets",
    "breaks_executed": "runs of the break",
}
_TIMES = {
    "compile_wall_s": "compiling",
    "compile_forward_s": "compiling, forward",
    "compile_backward_s": "compiling, backward",
    "run_wall_s": "the whole run",
    "compile_s": "compiling",
}
_FEW = 8


def count_name(name: str) -> str:
    """``graph_break_sites`` -> 'graph breaks'"""
    if name.endswith("_launches") and name not in _COUNTS:
        return f"{name.removesuffix('_launches')} kernel launches"
    return _COUNTS.get(name) or name.replace("_", " ")


def time_name(name: str) -> str:
    return _TIMES.get(name) or name.removesuffix("_s").replace("_", " ")


def number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def change(row: CountRow) -> str:
    """'+2', '-1', '=' or '?'"""
    if not row.differs:
        return "="
    return f"{row.more:+,}" if row.base is not None and row.head is not None else "?"


def factor(base_s: float | None, head_s: float | None) -> str:
    """'x 1.8'; empty where it cannot be said."""
    if not base_s or head_s is None:
        return ""
    return f"× {head_s / base_s:.2f}"


def side_name(side: Side) -> str:
    return side.name or " ".join(side.command) or "program"


def place_words(place: Place) -> str:
    """'Encoder.forward train.py:12 (rank 0, 1)'"""
    at = f"{place.file}:{place.line}" if place.line is not None else place.file
    ranks = f" (rank {', '.join(map(str, place.ranks))})" if place.ranks else ""
    return f"{place.function} {at}{ranks}"


def function_words(row: FunctionChange) -> str:
    if row.base is None or row.head is None:
        shape = row.head or row.base
        assert shape is not None
        said = "compiled on its own only in HEAD" if row.base is None else "no longer compiled on its own"
        return f"{said}: {_graphs(shape)}"
    return f"{row.change}: {_graphs(row.base)} → {_graphs(row.head)}"


def _graphs(shape: FunctionShape) -> str:
    """'2 graphs in 2 parts (2 + 2 ops)'"""
    ops = [number(n) for n in shape.ops]
    shown = " + ".join(ops[:_FEW]) + (f" + {len(ops) - _FEW} more" if len(ops) > _FEW else "")
    parts = f" in {count(shape.parts, 'part')}" if shape.parts > 1 else ""
    return f"{count(shape.graphs, 'graph')}{parts} ({shown} ops)"


def kernel_words(row: KernelChange) -> str:
    what = ", ".join(op.removeprefix("aten.") for op in row.ops[:_FEW]) or "kernel"
    direction = f"{row.direction}, " if row.direction else ""
    if row.change == "choice":
        return f"{direction}{what}: {row.base} → {row.head}"
    if row.change == "launches":
        return f"{direction}{what}: {row.head}, {row.base_launches:,} → {row.head_launches:,} launches"
    return f"{direction}{what}: {row.change} {row.head or row.base}"


def choice_words(row: ChoiceChange) -> str:
    times = ["" if value is None else f" {value:.3g} ms" for value in (row.base_ms, row.head_ms)]
    draw = "; a draw by their times" if row.draw else ""
    shapes = f" {' x '.join(row.shapes)}" if row.shapes else ""
    return f"{row.op}{shapes}: {row.base}{times[0]} → {row.head}{times[1]}{draw}"


def sizes_words(row: SizesChange) -> str:
    parts = [f"{row.name}: {_range(row.base)} → {_range(row.head)}"]
    for word, values in (("new", row.new), ("gone", row.gone)):
        if values:
            more = f" and {len(values) - _FEW} more" if len(values) > _FEW else ""
            parts.append(f"{word} {', '.join(map(str, values[:_FEW]))}{more}")
    if row.moved_share:
        parts.append(f"{100 * row.moved_share:.0f} % of the calls moved")
    return "; ".join(parts)


def _range(seen: SizeRange | None) -> str:
    if seen is None:
        return "not counted"
    if seen.distinct == 1:
        return f"{seen.smallest}"
    return f"{seen.smallest} to {seen.largest} ({seen.distinct} values)"


def finding_change_words(row: FindingChange) -> str:
    """'recompiles 1 → 7'"""
    return ", ".join(f"{count_name(c.name)} {number(c.base)} → {number(c.head)}" for c in row.counts)


def key_head(row: KeyRow) -> str:
    """'fx_graph [0/0] backward, Encoder.forward train.py:12: miss → hit'"""
    compile_id = f" [{row.compile_id}]" if row.compile_id else ""
    direction = f" {row.direction}," if row.direction else ""
    outcomes = f"{row.base_outcome or 'not asked'} → {row.head_outcome or 'not asked'}"
    return f"{row.cache}{compile_id}{direction} {place_words(row.place)}: {outcomes}"


def key_changes(row: KeyRow) -> str:
    """'gm, example_inputs[2], fx_kwargs[static_input_idxs]', or why they are not known."""
    paths = [change.path for change in row.changes]
    more = f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
    return ", ".join(paths[:_FEW]) + more or row.reason or ""
