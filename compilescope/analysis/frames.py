"""One row per code object Dynamo worked on: what it cost, how it ran, how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from compilescope.analysis import report
from compilescope.analysis.attempts import is_recompile
from compilescope.analysis.failures import failed
from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.limits import compiled_calls, eager_calls

_LEFT = "nothing of the function is compiled, so nothing counts its calls"
_NO_GRAPH = "a compile of it has no graph whose calls could be counted"


def frames(index: Index) -> list[report.Frame]:
    """By compile time, dearest first."""
    rows = [_row(index, frame) for frame in index.frames.values()]
    return sorted(rows, key=lambda r: (-(r.compile_s or 0.0), r.file, r.line))


def _row(index: Index, frame: FrameGroup) -> report.Frame:
    place = index.blamed(frame)
    started = [c for c in frame.compiles if c.started]
    graphs = [g for c in started for g in index.graphs_of.get(c.id, ())]
    costs = [c.wall_s + c.backward_s for c in started if c.wall_s is not None]
    was_refused = any(c.refused for c in frame.compiles)
    ops = [g.ops for g in graphs if g.ops is not None]
    compiled = compiled_calls(index, frame)
    eager = eager_calls(index, frame) if was_refused else None if is_uncounted(index, frame) else 0
    spent_s = round(sum(costs), 6) if costs or not started else None
    return report.Frame(
        function=place.function,
        file=index.paths.show(place.file),
        line=place.line,
        compile_ids=[str(c.id) for c in started],
        graphs=len(graphs),
        ops=max(ops) if ops else None if graphs else 0,
        compiled_calls=compiled,
        eager_calls=eager,
        compile_s=spent_s,
        graph_breaks=sum(len(index.breaks_of.get(c.id, ())) for c in started),
        recompiles=sum(is_recompile(c) for c in frame.compiles),
        status=_status(index, frame, len(graphs)),
        process=index.process.id,
        resumed_at=frame.resumed_at,
        called_from=index.called_from(frame),
        missing=list(_missing(index, frame, compiled, eager, spent_s)),
    )


def is_uncounted(index: Index, frame: FrameGroup) -> bool:
    """Whether a break, or an error that torch suppressed, leaves nothing of a function compiled."""
    if any(c.compiled or c.refused or c.earlier for c in frame.compiles):
        return False
    ids = {c.id for c in frame.compiles}
    return any(i in index.breaks_of for i in ids) or any(
        c.outcome == "suppressed" and c.compile in ids for c in index.process.conversions
    )


def _missing(
    index: Index, frame: FrameGroup, compiled: int | None, eager: int | None, spent_s: float | None
) -> Iterator[report.Missing]:
    if compiled is None:
        graphs = [g for c in frame.compiles for g in index.graphs_of.get(c.id, ())]
        uncounted = index.why_uncounted() if any(g.calls is None for g in graphs) else _NO_GRAPH
        yield report.Missing("compiled_calls", uncounted)
    if eager is None:
        why = _LEFT if is_uncounted(index, frame) else index.why_uncounted_eager()
        yield report.Missing("eager_calls", why)
    if spent_s is None:
        yield report.Missing("compile_s", "no compile of it ended")


def _status(index: Index, frame: FrameGroup, graphs: int) -> str:
    compiles = frame.compiles
    if any(c.refused for c in compiles):
        return "recompile limit"
    if any(failed(index, c) for c in compiles):
        return "failed"
    if all(c.earlier for c in compiles):
        return "earlier"
    if not any(c.compiled for c in compiles):
        return "skipped" if any(c.id in index.breaks_of for c in compiles) else "failed"
    if any(c.id in index.breaks_of for c in compiles):
        return "graph break"
    if any(is_recompile(c) for c in compiles):
        return "recompiled"
    return "compiled" if graphs else "empty"
