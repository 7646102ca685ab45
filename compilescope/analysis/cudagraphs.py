"""CUDA graphs and compiled autograd, by process."""

from __future__ import annotations

import re
from dataclasses import replace

from compilescope.analysis import lengths
from compilescope.analysis.index import Index
from compilescope.analysis.lengths import few
from compilescope.analysis.lines import printed_line
from compilescope.analysis.report_missing import Missing
from compilescope.analysis.report_run import CompiledAutograd, CudagraphFunction, Cudagraphs, CudagraphSkip
from compilescope.model import CompileId, inductor

_NO_POOL = "the allocator was not asked: no graph was recorded by capture, or it has too many blocks"
_WHY = {
    "warm_ups": "this recording does not count them",
    "replays": "calls or warm-ups were not counted, or torch ran some calls without a graph",
    "pool_growth_bytes": _NO_POOL,
}
_PARTITION = re.compile(r"^\s*def (partition_\d+)\(", re.MULTILINE)


def cudagraphs(index: Index) -> Cudagraphs | None:
    """None where no graph was to use them and torch said nothing about them."""
    detail = index.process.detail
    found = detail.inductor.cudagraphs if detail is not None and detail.inductor is not None else None
    if found is None or not (found.enabled or found.skips or found.recordings or found.disabled_reason):
        return None
    return Cudagraphs(
        index.process.id,
        found.enabled,
        found.disabled_reason,
        found.recordings,
        round(found.recording_s, 6),
        [_skip(index, skip) for skip in found.skips],
        [_function(index, function, found) for function in found.functions],
        found.pool_bytes,
        found.warned_sizes,
        [Missing("pool_bytes", _NO_POOL)] if found.pool_bytes is None else [],
    )


def _skip(index: Index, skip: inductor.CudagraphSkip) -> CudagraphSkip:
    line = printed_line(index, skip.line)
    if line is None:
        return CudagraphSkip(skip.reason, skip.count, None, None)
    return CudagraphSkip(skip.reason, skip.count, line.file, line.line, line.function)


def _function(
    index: Index, function: inductor.CudagraphFunction, all_of_them: inductor.Cudagraphs
) -> CudagraphFunction:
    compile_id = None
    if function.key is not None:
        autograd, epoch, frame_id, recompile = function.key
        compile_id = CompileId(epoch, frame_id, recompile, autograd)
    frame = index.frame_of(compile_id) if compile_id is not None else None
    place = index.blamed(frame) if frame is not None else None
    row = CudagraphFunction(
        str(compile_id) if compile_id is not None else None,
        place.function if place else None,
        index.paths.show(place.file) if place else None,
        place.line if place else None,
        function.mode,
        function.recordings,
        list(function.sizes),
        function.warm_ups,
        None if all_of_them.limited else _replays(index, function),
        function.pool_growth_bytes,
    )
    return replace(
        row, missing=[Missing(name, why) for name, why in _WHY.items() if getattr(row, name) is None]
    )


def _replays(index: Index, function: inductor.CudagraphFunction) -> int | None:
    """Calls of the graph that neither warmed up nor recorded; of a partitioned graph whole calls count.

    None where calls or warm-ups were not counted, and where torch ran some calls without a graph.
    """
    detail = index.process.detail
    if detail is None or detail.inductor is None or function.warm_ups is None:
        return None
    sources = [s for s in detail.inductor.graphs if s.key == function.key and _mode(s) == function.mode]
    calls = [detail.inductor_calls.get(source.described.get("i", -1)) for source in sources]
    counted = [n for n in calls if n is not None]
    if not counted or len(counted) < len(calls):
        return None
    parts = max(1, *(len(set(_PARTITION.findall(source.code() or ""))) for source in sources))
    return max(0, sum(counted) - (function.warm_ups + function.recordings) // parts)


def _mode(source: inductor.GraphSource) -> str:
    if source.described.get("is_backward"):
        return "backward"
    return "inference" if source.described.get("is_inference") else "forward"


def compiled_autograd(index: Index) -> CompiledAutograd | None:
    """None where it captured nothing."""
    process = index.process
    if not process.autograd_graphs:
        return None
    ids = [str(c.id) for c in process.compiles.values() if c.id.autograd >= 0 and c.started]
    reasons = process.detail.autograd_reasons if process.detail is not None else ()
    more: dict[str, int] = {}
    kept = few(reasons, lengths.CAPTURE_REASONS, "reasons", more)
    return CompiledAutograd(process.id, len(process.autograd_graphs), ids, kept, more)
