"""Rows of a diff as the words a person reads: the same in every view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.units import count

if TYPE_CHECKING:
    from compilescope.compare.diff import (
        BucketChange,
        ChoiceChange,
        CountRow,
        Diff,
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
    "exit_status": "exit status",
}
_TIMES = {
    "compile_wall_s": "compiling",
    "compile_forward_s": "compiling, forward",
    "compile_backward_s": "compiling, backward",
    "run_wall_s": "the whole run",
    "compile_s": "compiling",
}
_FEW = 8


def not_compared(diff: Diff) -> list[tuple[str, str]]:
    """(fact, reason) of what only one of the runs knows: what neither knows is news to nobody."""
    return [
        (f"{row.side.upper()}: {row.fact}", row.reason) for row in diff.not_compared if row.side != "both"
    ]


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
        return f"{said}: {shape_words(shape)}"
    return f"{row.change}: {shape_words(row.base)} → {shape_words(row.head)}"


def shape_words(shape: FunctionShape) -> str:
    """'2 graphs in 2 parts (2 + 2 ops)'"""
    ops = [number(n) for n in shape.ops]
    shown = " + ".join(ops[:_FEW]) + (f" + {len(ops) - _FEW} more" if len(ops) > _FEW else "")
    parts = f" in {count(shape.parts, 'part')}" if shape.parts > 1 else ""
    return f"{count(shape.graphs, 'graph')}{parts} ({shown} ops)"


def kernel_name(row: KernelChange) -> str:
    """'forward, addmm, relu'"""
    what = ", ".join(op.removeprefix("aten.") for op in row.ops[:_FEW]) or "kernel"
    return f"{row.direction}, {what}" if row.direction else what


def kernel_words(row: KernelChange) -> str:
    name = kernel_name(row)
    if row.change == "choice":
        return f"{name}: {row.base} → {row.head}"
    if row.change == "launches":
        return f"{name}: {row.head}, {row.base_launches:,} → {row.head_launches:,} launches"
    return f"{name}: {row.change} {row.head or row.base}"


def tuned_name(row: ChoiceChange) -> str:
    """'mm 16x64 x 64x64; a draw by their times'"""
    draw = "; a draw by their times" if row.draw else ""
    return f"{row.op}{' ' if row.shapes else ''}{' x '.join(row.shapes)}{draw}"


def candidate(name: str, time_ms: float | None) -> str:
    return name if time_ms is None else f"{name} {time_ms:.3g} ms"


def choice_words(row: ChoiceChange) -> str:
    return f"{tuned_name(row)}: {candidate(row.base, row.base_ms)} → {candidate(row.head, row.head_ms)}"


def sizes_words(row: SizesChange) -> str:
    parts = [f"{row.name}: {range_words(row.base)} → {range_words(row.head)}"]
    for word, values in (("new", row.new), ("gone", row.gone)):
        if values:
            more = f" and {len(values) - _FEW} more" if len(values) > _FEW else ""
            parts.append(f"{word} {', '.join(map(str, values[:_FEW]))}{more}")
    if row.moved_share:
        parts.append(f"{100 * row.moved_share:.0f} % of the calls moved")
    return "; ".join(parts)


def range_words(seen: SizeRange | None) -> str:
    if seen is None:
        return "not counted"
    if seen.distinct == 1:
        return f"{seen.smallest}"
    return f"{seen.smallest} to {seen.largest} ({seen.distinct} values)"


def finding_change_words(row: FindingChange) -> str:
    """'recompiles 1 → 7'"""
    return ", ".join(f"{count_name(c.name)} {number(c.base)} → {number(c.head)}" for c in row.counts)


def bucket_words(row: BucketChange) -> str:
    """'rung 64: pad, 12 hits → pin, 9 hits'"""
    return f"rung {row.rung}: {bucket_side(row.base, row.base_hits)} → {bucket_side(row.head, row.head_hits)}"


def bucket_side(state: str | None, hits: int | None) -> str:
    if state is None:
        return "none"
    return state if hits is None else f"{state}, {count(hits, 'hit')}"


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
