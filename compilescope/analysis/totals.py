"""Counts over all processes, by the rules torch's own numbering suggests: restarts are not compiles."""

from __future__ import annotations

from collections.abc import Sequence

from compilescope.analysis.attempts import is_recompile
from compilescope.analysis.compile_time import compile_wall_s
from compilescope.analysis.frames import is_uncounted
from compilescope.analysis.index import Index
from compilescope.analysis.ranks import merged_failures, merged_limits
from compilescope.analysis.report import Failure, GraphBreak, LimitHit, Skip, Totals


def totals(
    indexes: Sequence[Index],
    breaks: Sequence[GraphBreak],
    limits: Sequence[LimitHit],
    failures: Sequence[Failure],
    skips: Sequence[Skip],
) -> Totals:
    processes = [index.process for index in indexes]
    compiles = [c for p in processes for c in p.compiles.values()]
    graphs = [graph for p in processes for graph in p.graphs]
    calls = [graph.calls for graph in graphs]
    known = [n for n in calls if n is not None]
    eager = [limit.eager_calls for limit in limits]
    warm_ups = sum(
        is_recompile(c) and index.in_warm_up(c) for index in indexes for c in index.process.compiles.values()
    )
    return Totals(
        frames=sum(any(c.compiled for c in f.compiles) for index in indexes for f in index.frames.values()),
        compiles=sum(c.started for c in compiles),
        graphs=sum(not graph.inherited for graph in graphs),
        graph_break_sites=len({(b.file, b.line) for b in breaks}),
        graph_break_events=sum(len(index.breaks) for index in indexes),
        recompiles=sum(map(is_recompile, compiles)) - warm_ups,
        warm_up_recompiles=warm_ups,
        limit_hits=len(merged_limits(limits)),
        failures=len(merged_failures(failures)),
        compile_wall_s=compile_wall_s(processes) if compiles else 0.0,
        compiled_calls=sum(known) if len(known) == len(calls) else None,
        eager_calls=None if None in eager else sum(n or 0 for n in eager),
        processes=len(processes),
        blocked_by_limit=sum(c.refused for c in compiles),
        skipped_frames=len(skips),
        uncounted_functions=len(_uncounted(indexes)),
        compiled=sum(c.compiled for c in compiles),
    )


def _uncounted(indexes: Sequence[Index]) -> set[tuple[str, str, int]]:
    """Functions that ran without torch.compile as a whole; the rest of one that was split is not another."""
    found = set()
    for index in indexes:
        for frame in index.frames.values():
            if is_uncounted(index, frame):
                place = index.blamed(frame)
                start = index.scopes.start_of(place.file, place.line)
                found.add((place.function, index.paths.show(place.file), start or place.line))
    return found
