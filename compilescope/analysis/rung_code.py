"""Kernels, bytes and memory of each rung of a ladder, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from compilescope.analysis.compiled import Budget
from compilescope.analysis.index import Index
from compilescope.analysis.kernel_rows import families
from compilescope.analysis.lines import number_of
from compilescope.analysis.report_run import Bucket, RungCode
from compilescope.model.inductor import CompiledGraph, GraphSource, read_graph

_Key = tuple[str, str, int, str]  # process, backend, captured graph, rung


def with_code(rungs: Sequence[Bucket], indexes: Sequence[Index], budget: Budget) -> list[Bucket]:
    """Each rung with what was made of it, as long as the budget of graphs that are read lasts."""
    sources: dict[_Key, list[tuple[Index, GraphSource]]] = defaultdict(list)
    for index in indexes:
        facts = index.process.detail.inductor if index.process.detail is not None else None
        for source in facts.graphs if facts is not None else ():
            if source.rung is not None:
                sources[index.process.id, *source.rung].append((index, source))
    return [_filled(rung, sources.get(_key(rung), ()), budget) for rung in rungs]


def _key(rung: Bucket) -> _Key:
    return (rung.process, rung.backend, rung.entry, rung.rung)


def _filled(rung: Bucket, sources: Sequence[tuple[Index, GraphSource]], budget: Budget) -> Bucket:
    if not sources or not budget.take():
        return rung
    made = []
    for index, source in sources:
        detail = index.process.detail
        made.append(_code(read_graph(source, detail.files if detail is not None else lambda _: None)))
    return replace(rung, made=made)


def _code(graph: CompiledGraph) -> RungCode:
    hints = dict(graph.hints)
    if graph.memory is not None:
        hints |= graph.memory.hints
    return RungCode(
        graph.direction,
        families([graph]),
        len(graph.kernels),
        graph.fusion.nodes_before,
        graph.fusion.nodes_after,
        number_of(graph.fusion.bytes_after, hints),
        number_of(graph.memory.peak_bytes, hints) if graph.memory is not None else None,
        len(graph.fusion.missed_epilogues),
        graph.code,
        graph.cached,
    )
