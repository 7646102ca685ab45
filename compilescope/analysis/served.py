"""Which artifact served a graph's calls of given sizes, as the ladder of a bucketed backend counted them.

Dynamo's graph is symbolic there, and most of its calls run an artifact that was compiled for one size.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compilescope.analysis.index import Index
from compilescope.model import CompileId, Dispatch, Graph

_ARTIFACTS = {"exact": "static", "padded": "static", "range": "dynamic", "dynamic": "dynamic"}


@dataclass(frozen=True, slots=True)
class Artifact:
    """``kind``: static or dynamic. ``sizes``: of symbols, where the call was padded up to them."""

    kind: str
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Entry:
    symbols: dict[str, str] = field(default_factory=dict)  # of Dynamo's, by the name that the ladder gives
    rungs: dict[str, dict[str, int]] = field(default_factory=dict)  # sizes by name
    dispatches: list[Dispatch] = field(default_factory=list)


class Served:
    def __init__(self, index: Index) -> None:
        self._process = index.process

    def by_ladder(self, graph: Graph) -> bool:
        """Whether rungs of a ladder serve the calls of this graph."""
        return graph.compile in self._entries

    def artifact(self, graph: Graph, values: Mapping[str, int]) -> Artifact | None:
        """What served more than half of the calls with these values of Dynamo's symbols; None where nothing
        did, where it ran eagerly, or where that was not counted.
        """
        entry = self._entries[graph.compile]
        calls: Counter[tuple[str, str]] = Counter()
        for each in entry.dispatches:
            if each.sizes is not None and _is_of(entry, each, values):
                calls[each.rung, each.outcome] += each.count
        if not calls:
            return None
        ((rung, outcome), most), *_ = calls.most_common(1)
        kind = _ARTIFACTS.get(outcome)
        if kind is None or 2 * most <= calls.total():
            return None
        padded = entry.rungs.get(rung, {}) if outcome == "padded" else {}
        return Artifact(kind, {entry.symbols[n]: size for n, size in padded.items() if n in entry.symbols})

    @cached_property
    def _entries(self) -> dict[CompileId, _Entry]:
        """By compile, with the calls counted; of a graph that was cut into several nothing is known."""
        found: dict[tuple[str, int], _Entry] = defaultdict(_Entry)
        compiles: dict[CompileId, list[tuple[str, int]]] = defaultdict(list)
        for event in self._process.bucket_events:
            key = (str(event.fields.get("backend")), event.fields.get("entry") or 0)
            if event.event == "EntryCaptured" and event.compile is not None:
                compiles[event.compile].append(key)
                found[key].symbols = _symbols(event.fields.get("symbols") or ())
            elif event.event == "RungCompiled":
                found[key].rungs[str(event.fields.get("rung"))] = _sizes(event.fields.get("sizes") or ())
        for dispatch in self._process.dispatches:
            found[dispatch.backend, dispatch.entry].dispatches.append(dispatch)
        return {compile_id: found[keys[0]] for compile_id, keys in compiles.items() if len(keys) == 1}


def _is_of(entry: _Entry, dispatch: Dispatch, values: Mapping[str, int]) -> bool:
    sizes = zip(dispatch.names, dispatch.sizes or (), strict=False)
    return all(values.get(entry.symbols.get(name, "")) == size for name, size in sizes)


def _symbols(rows: Sequence[Any]) -> dict[str, str]:
    """The first of each name: its calls are counted by that one."""
    found: dict[str, str] = {}
    for row in rows:
        if row.get("name") is not None:
            found.setdefault(str(row["name"]), str(row.get("symbol")))
    return found


def _sizes(rows: Sequence[Any]) -> dict[str, int]:
    """Of a static rung, whose sizes have no span."""
    return {str(row[0]): row[1] for row in rows if len(row) > 2 and row[1] == row[2] and type(row[1]) is int}
