"""Symbols of a graph and the conditions its trace relied on, with the lines that made them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from compilescope.analysis.index import Index
from compilescope.analysis.lines import line_at
from compilescope.analysis.report_graph import Symbol, SymbolGuard
from compilescope.model import CompileId, Graph, SymbolCondition, SymbolMade


class Symbols:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._made: dict[CompileId, dict[str, SymbolMade]] = defaultdict(dict)
        self._conditions: dict[CompileId, list[SymbolCondition]] = defaultdict(list)
        detail = index.process.detail
        for made in detail.symbols if detail else ():
            self._made[made.compile].setdefault(made.symbol, made)
        for condition in detail.conditions if detail else ():
            self._conditions[condition.compile].append(condition)

    def of(self, graph: Graph) -> list[Symbol]:
        """Those made while tracing, and those the graph's inputs hold; each once."""
        made = self._made.get(graph.compile, {})
        names = dict.fromkeys((*made, *graph.symbols))
        return [self._symbol(name, made.get(name), graph) for name in names]

    def _symbol(self, name: str, made: SymbolMade | None, graph: Graph) -> Symbol:
        told: Any = graph.symbols.get(name, {})
        listed = [str(source) for source in told.get("sources") or ()]
        sources = listed or ([made.source] if made and made.source else [])
        hints = {p.expr: p.hint for p in graph.placeholders if p.kind == "symint"}
        told_range = told.get("range")
        return Symbol(
            name,
            list(dict.fromkeys(sources)),
            told_range if isinstance(told_range, str) else made.range if made else None,
            made.hint if made is not None and made.hint is not None else hints.get(name),
            line_at(self._index, made.at) if made else None,
            made.backed if made else not name.startswith("u"),
        )

    def conditions(self, graph: Graph) -> list[SymbolGuard]:
        """Each once, in order."""
        found = self._conditions.get(graph.compile, ())
        return list(dict.fromkeys(SymbolGuard(c.expr, line_at(self._index, c.at)) for c in found))
