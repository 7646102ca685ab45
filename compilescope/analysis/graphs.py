"""Every graph: what goes in, how often it ran and at which sizes, what its compile cost, its caches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from compilescope.analysis import report
from compilescope.analysis.compiled import Budget, Compiled
from compilescope.analysis.guards import GuardLists
from compilescope.analysis.index import Index, original_name
from compilescope.analysis.nulls import explained
from compilescope.analysis.partners import partner
from compilescope.analysis.phases import Spent, phases_of_compiles
from compilescope.analysis.symbols import Symbols
from compilescope.model import CompileId, Graph, Specialized

_SHARED = "the compile has several graphs: its phases are in the first one"


def graphs(index: Index, budget: Budget) -> list[report.Graph]:
    """In order of compiling, each followed by its backward graphs."""
    compiled, symbols, guards = Compiled(index, budget), Symbols(index), GuardLists(index)
    caches = _cache_outcomes(index)
    spent = phases_of_compiles(index)
    specialized: dict[CompileId, list[Specialized]] = defaultdict(list)
    for fact in index.process.specialized:
        if fact.compile is not None:
            specialized[fact.compile].append(fact)
    rows: list[report.Graph] = []
    seen: set[CompileId] = set()
    for graph in index.process.graphs:
        row = replace(
            _row(index, graph, caches, specialized[graph.compile]),
            symbols=symbols.of(graph),
            symbol_guards=symbols.conditions(graph),
            guards=guards.of(index.process.compiles.get(graph.compile)),
        )
        first = graph.compile not in seen
        made = compiled.rows(row, graph.compile, first=first)
        made = _with_phases(made, spent.get(graph.compile), first=first)
        rows += (explained(index, each) for each in made)
        seen.add(graph.compile)
    return rows


def _with_phases(rows: list[report.Graph], spent: Spent | None, *, first: bool) -> list[report.Graph]:
    """Of several graphs of one compile the first has its phases: torch does not tell them apart."""
    if spent is None:
        return rows
    forward, backward = spent
    out = []
    for row in rows:
        if row.backward:
            out.append(replace(row, phases=backward))
            backward = {}
        elif first:
            out.append(replace(row, phases=forward))
        else:
            out.append(replace(row, missing=[*row.missing, report.Missing("phases", _SHARED)]))
    return out


def _cache_outcomes(index: Index) -> Mapping[CompileId, dict[str, Any]]:
    counts: dict[CompileId, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for event in index.process.caches:
        if event.compile is not None:
            counts[event.compile][event.cache][event.outcome] += 1
    return {key: {name: dict(found) for name, found in caches.items()} for key, caches in counts.items()}


def _row(
    index: Index, graph: Graph, caches: Mapping[CompileId, dict[str, Any]], specialized: list[Specialized]
) -> report.Graph:
    compiled = index.process.compiles.get(graph.compile)
    frame = index.frame_of_graph(graph)
    place = index.blamed(frame) if frame else None
    why = graph.uncounted or index.why_uncounted()
    missing = [report.Missing("calls", why)] if graph.calls is None else []
    if graph.sizes is None:
        missing.append(report.Missing("sizes_seen", why))
    if compiled is None or compiled.wall_s is None:
        missing.append(report.Missing("compile_s", "the compile did not end"))
    return report.Graph(
        epoch=graph.compile.epoch,
        compile_id=str(graph.compile),
        function=place.function if place else original_name("?")[0],
        file=index.paths.show(place.file) if place else "?",
        line=place.line if place else 0,
        ops=graph.ops if graph.ops is not None else compiled.ops if compiled else None,
        calls=graph.calls,
        backward=False,
        compile_s=compiled.wall_s if compiled else None,
        process=index.process.id,
        phases_nested=dict(compiled.phases_s) if compiled else {},
        cache=dict(caches.get(graph.compile, {})),
        placeholders=[_placeholder(p) for p in graph.placeholders],
        sizes_seen=_sizes(graph),
        specializations=[_specialization(index, fact) for fact in specialized],
        backend=graph.backend,
        missing=missing,
    )


def _placeholder(p: Any) -> report.Placeholder:
    return report.Placeholder(
        p.name,
        p.kind,
        p.source,
        p.dtype,
        list(p.shape) if p.shape is not None else None,
        list(p.stride) if p.stride is not None else None,
        p.device,
        p.expr,
        p.hint,
        p.range,
    )


def _sizes(graph: Graph) -> list[report.SizeCount] | None:
    """Counts by the values of the graph's size inputs, most frequent first; no values: sizes beyond the cap.
    Empty for a graph without size inputs.
    """
    if graph.sizes is None:
        return None
    symbols = {p.name: p.expr or p.name for p in graph.placeholders}
    names = [symbols.get(name, name) for name in graph.size_names]
    return [
        report.SizeCount(dict(zip(names, values, strict=False)) if values is not None else {}, count)
        for values, count in graph.sizes
    ]


def _specialization(index: Index, fact: Specialized) -> report.Specialization:
    place = fact.location if fact.location and not index.paths.is_torch(fact.location.file) else None
    return report.Specialization(
        fact.source,
        fact.value,
        fact.reason,
        index.paths.show(place.file) if place else None,
        place.line if place else None,
        partner(index, fact),
    )
