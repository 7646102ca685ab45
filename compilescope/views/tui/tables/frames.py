"""Frames, their compiles, and the graphs of those, as one tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone, known_first
from compilescope.views.tui._words import number, one_line, place
from compilescope.views.tui.tables._none import nothing
from compilescope.views.tui.tables.shapes import SHAPES

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame, Graph, Report

_BAD = ("recompile limit", "failed")
_Id = tuple[str, str]  # process, compile id


@dataclass(slots=True)
class Facts:
    """What a report says of each compile, shared by all nodes."""

    graphs: dict[_Id, list[Graph]] = field(default_factory=lambda: defaultdict(list))
    causes: dict[_Id, list[str]] = field(default_factory=lambda: defaultdict(list))
    breaks: dict[_Id, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True, eq=False)
class Node:
    """A frame (depth 0), a compile of it (1), or a graph of that (2). Children are made when looked at."""

    frame: Frame
    facts: Facts
    depth: int = 0
    compile_id: str = ""
    graph: Graph | None = None
    calls: int | None = None
    compile_s: float | None = None
    ops: int | None = None
    _children: list[Node] | None = None

    @property
    def children(self) -> list[Node]:
        if self._children is None:
            self._children = _below(self)
        return self._children

    @property
    def id(self) -> _Id:
        return (self.frame.process, self.compile_id)


def _below(node: Node) -> list[Node]:
    if node.depth == 0:
        return [_compile(node, compile_id) for compile_id in node.frame.compile_ids]
    if node.depth == 1:
        return [
            Node(node.frame, node.facts, 2, node.compile_id, graph, graph.calls, graph.compile_s, graph.ops)
            for graph in node.facts.graphs.get(node.id, ())
        ]
    return []


def _compile(frame: Node, compile_id: str) -> Node:
    graphs = frame.facts.graphs.get((frame.frame.process, compile_id), [])
    calls = [graph.calls for graph in graphs]
    spent_s = [graph.compile_s for graph in graphs]
    ops = [graph.ops for graph in graphs]
    return Node(
        frame.frame,
        frame.facts,
        1,
        compile_id,
        None,
        None if None in calls or not calls else sum(n for n in calls if n is not None),
        None if None in spent_s or not spent_s else sum(s for s in spent_s if s is not None),
        None if None in ops or not ops else sum(n for n in ops if n is not None),
    )


def _rows(report: Report) -> list[Node]:
    facts = Facts()
    for graph in report.graphs:
        facts.graphs[graph.process, graph.compile_id].append(graph)
    for cause in report.recompiles:
        for compile_id in cause.compile_ids:
            facts.causes[cause.process, compile_id].append(cause.source)
    for site in report.graph_breaks:
        for compile_id in site.compile_ids:
            facts.breaks[site.process, compile_id].append(place(site.file, site.line))
    return [
        Node(frame, facts, 0, calls=frame.compiled_calls, compile_s=frame.compile_s, ops=frame.ops)
        for frame in report.frames
    ]


def _name(node: Node) -> str:
    if node.graph is not None:
        return f"    {node.graph.backend or 'graph'}"
    if node.depth == 1:
        return f"  [{node.compile_id}]"
    frame = node.frame
    resumed = f", resumed at {frame.resumed_at}" if frame.resumed_at is not None else ""
    return f"{frame.function}{resumed}"


def _status(node: Node) -> str:
    if node.depth == 0:
        return node.frame.status
    if node.graph is not None:
        return "forward, backward" if node.graph.backward else "forward"
    causes, breaks = node.facts.causes.get(node.id), node.facts.breaks.get(node.id)
    parts = [f"recompile: {causes[0]}" if causes else "", f"break: {breaks[0]}" if breaks else ""]
    return "; ".join(filter(None, parts)) or "compiled"


def _tone(node: Node) -> Tone:
    if node.depth:
        return "faint" if node.depth == 2 else ""
    if node.frame.status in _BAD:
        return "bad"
    return "" if node.frame.status == "compiled" else "warn"


def _card(node: Node) -> Card:
    if node.graph is not None:
        return SHAPES.card(node.graph)
    frame = node.frame
    where = {"file": frame.file, "line": frame.line, "function": frame.function, "process": frame.process}
    if node.depth == 1:
        return Card(
            f"compile [{node.compile_id}] of {called(frame.function)}",
            **where,  # type: ignore[arg-type]
            facts=[("calls", number(node.calls)), ("compile time", seconds(node.compile_s))],
            lists=[
                ("compiled again because these changed", node.facts.causes.get(node.id, [])),
                ("graph breaks", node.facts.breaks.get(node.id, [])),
            ],
            compile_ids=[node.compile_id],
        )
    return Card(
        f"{called(frame.function)}: {frame.status}",
        **where,  # type: ignore[arg-type]
        facts=[
            (
                "resumed at",
                None if frame.resumed_at is None else f"line {frame.resumed_at}, after a graph break",
            ),
            ("called from", frame.called_from),
            ("calls", f"{number(frame.compiled_calls)} compiled, {number(frame.eager_calls)} eager"),
            ("compile time", seconds(frame.compile_s)),
            ("operations", number(frame.ops)),
            ("graphs", number(frame.graphs)),
            ("breaks", number(frame.graph_breaks)),
            ("recompiles", number(frame.recompiles)),
        ],
        compile_ids=frame.compile_ids,
    )


def _key(node: Node) -> Hashable:
    frame, graph = node.frame, node.graph
    return (
        frame.process,
        frame.file,
        frame.line,
        frame.function,
        frame.resumed_at,
        node.compile_id,
        graph and (graph.epoch, graph.function, graph.line),
    )


FRAMES: Table[Node] = Table(
    rows=_rows,
    columns=(
        Column(
            "frame",
            _name,
            share=4,
            sort=lambda node: node.frame.function,
            about="a function; under it its compiles, under those their graphs",
        ),
        Column(
            "status",
            lambda node: one_line(_status(node), 300),
            share=4,
            tone=_tone,
            sort=lambda node: node.frame.status,
            about="what became of it; what is worst wins",
        ),
        Column(
            "compiles",
            lambda node: number(len(node.frame.compile_ids)) if node.depth == 0 else "",
            width=9,
            right=True,
            above=70,
            sort=lambda node: len(node.frame.compile_ids),
        ),
        Column(
            "calls",
            lambda node: number(node.calls),
            width=8,
            right=True,
            sort=lambda node: known_first(node.calls),
            about="calls that ran compiled code (counted)",
        ),
        Column(
            "eager",
            lambda node: number(node.frame.eager_calls) if node.depth == 0 else "",
            width=7,
            right=True,
            sort=lambda node: known_first(node.frame.eager_calls),
            about="calls that ran without compiled code (counted)",
        ),
        Column(
            "compile time",
            lambda node: seconds(node.compile_s),
            width=13,
            right=True,
            sort=lambda node: known_first(node.compile_s),
        ),
        Column(
            "ops",
            lambda node: number(node.ops),
            width=7,
            right=True,
            above=125,
            sort=lambda node: known_first(node.ops),
            about="operations in the graphs",
        ),
        Column(
            "breaks",
            lambda node: number(node.frame.graph_breaks) if node.depth == 0 else "",
            width=7,
            right=True,
            above=100,
            sort=lambda node: node.frame.graph_breaks,
        ),
        Column(
            "recompiles",
            lambda node: number(node.frame.recompiles) if node.depth == 0 else "",
            width=11,
            right=True,
            above=140,
            sort=lambda node: node.frame.recompiles,
        ),
        Column(
            "where",
            lambda node: place(node.frame.file, node.frame.line) if node.depth == 0 else "",
            share=3,
            cut="left",
            above=100,
            sort=lambda node: (node.frame.file, node.frame.line),
        ),
    ),
    card=_card,
    key=_key,
    empty=lambda report: nothing(report, "No frame was recorded."),
    children=lambda node: node.children,
)
