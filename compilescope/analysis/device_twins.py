"""Graphs that were compiled again only because a tensor came from another device of the same kind.

The code would have been the same but for the number of the device: a process for each device, or one compile
for each on purpose, are the two ways around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compilescope.analysis.report import Graph, Placeholder
from compilescope.analysis.report_run import DeviceTwin

_INDEX = re.compile(r":(\d+)$")
_Shape = tuple[object, ...]


def device_twins(graphs: Iterable[Graph]) -> list[DeviceTwin]:
    """Each with the first graph of the same function that is its twin, in order of compiling."""
    first: dict[tuple[object, ...], Graph] = {}
    found = []
    for graph in graphs:
        if graph.backward or not graph.placeholders:
            continue
        key = (graph.process, graph.epoch, graph.file, graph.line, graph.function, graph.ops, _shapes(graph))
        twin = first.setdefault(key, graph)
        changed = _changed(twin, graph)
        if changed is not None:
            found.append(
                DeviceTwin(
                    graph.function,
                    graph.file,
                    graph.line,
                    graph.process,
                    graph.compile_id,
                    twin.compile_id,
                    *changed,
                    graph.compile_s,
                )
            )
    return found


def _shapes(graph: Graph) -> tuple[_Shape, ...]:
    """All of the inputs but the number of their device."""
    return tuple(_described(p) for p in graph.placeholders)


def _described(p: Placeholder) -> _Shape:
    device = _INDEX.sub("", p.device) if p.device else None
    return (p.kind, p.source, p.dtype, str(p.shape), str(p.stride), device, p.expr is not None)


def _changed(one: Graph, other: Graph) -> tuple[str, str] | None:
    pairs = zip(one.placeholders, other.placeholders, strict=True)
    return next(
        ((a.device, b.device) for a, b in pairs if a.device and b.device and a.device != b.device), None
    )
