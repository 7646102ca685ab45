"""CUDA graphs and compiled autograd, by process."""

from __future__ import annotations

from compilescope.analysis.index import Index
from compilescope.analysis.lines import printed_line
from compilescope.analysis.report_run import CompiledAutograd, CudagraphFunction, Cudagraphs, CudagraphSkip
from compilescope.model import CompileId, inductor

MAX_REASONS = 20


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
        [_function(index, function) for function in found.functions],
    )


def _skip(index: Index, skip: inductor.CudagraphSkip) -> CudagraphSkip:
    line = printed_line(index, skip.line)
    return CudagraphSkip(skip.reason, skip.count, line.file if line else None, line.line if line else None)


def _function(index: Index, function: inductor.CudagraphFunction) -> CudagraphFunction:
    compile_id = None
    if function.key is not None:
        autograd, epoch, frame_id, recompile = function.key
        compile_id = CompileId(epoch, frame_id, recompile, autograd)
    frame = index.frame_of(compile_id) if compile_id is not None else None
    place = index.blamed(frame) if frame is not None else None
    return CudagraphFunction(
        str(compile_id) if compile_id is not None else None,
        place.function if place else None,
        index.paths.show(place.file) if place else None,
        place.line if place else None,
        function.mode,
        function.recordings,
        list(function.sizes),
    )


def compiled_autograd(index: Index) -> CompiledAutograd | None:
    """None where it captured nothing."""
    process = index.process
    if not process.autograd_graphs:
        return None
    ids = [str(c.id) for c in process.compiles.values() if c.id.autograd >= 0 and c.started]
    reasons = process.detail.autograd_reasons if process.detail is not None else ()
    return CompiledAutograd(process.id, len(process.autograd_graphs), ids, list(reasons[:MAX_REASONS]))
