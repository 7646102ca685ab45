"""Cut a graph into pieces, in its own order: what is split at stands alone, the rest lies in between."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

Matches = Callable[[fx.Node], bool]


class CannotSplitError(Exception):
    """Cutting here could change the result; the graph is compiled whole."""


@dataclass(frozen=True, slots=True)
class Piece:
    """``inputs`` and ``outputs`` are nodes of the whole graph, in the order of the piece's own."""

    graph_module: fx.GraphModule
    inputs: tuple[fx.Node, ...]
    outputs: tuple[fx.Node, ...]
    runs_eagerly: bool


def cut(graph_module: fx.GraphModule, matches: Matches, always: Sequence[fx.Node] = ()) -> list[Piece]:
    """``always`` are inputs every compiled piece gets, used or not: symbols its sizes are written in.

    Raises CannotSplitError where state (autocast, grad mode) would reach over a cut.
    """
    segments = _segments(graph_module, matches)
    _check_state(segments)
    piece_of = {node: number for number, (_, nodes) in enumerate(segments) for node in nodes}
    pieces = []
    for number, (runs_eagerly, nodes) in enumerate(segments):
        inputs = dict.fromkeys(
            source for node in nodes for source in node.all_input_nodes if _crosses(source, piece_of, number)
        )
        if not runs_eagerly:
            inputs |= dict.fromkeys(always)
        outputs = [node for node in nodes if any(piece_of.get(user, -1) != number for user in node.users)]
        pieces.append(_piece(graph_module, nodes, list(inputs), outputs, runs_eagerly))
    return pieces


def _segments(graph_module: fx.GraphModule, matches: Matches) -> list[tuple[bool, list[fx.Node]]]:
    segments: list[tuple[bool, list[fx.Node]]] = []
    owner: dict[fx.Node, list[fx.Node]] = {}
    for node in graph_module.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        if node.target is operator.getitem and isinstance(node.args[0], fx.Node) and node.args[0] in owner:
            # Taking a result apart belongs to what made it: only tensors and numbers cross a cut.
            owner[node.args[0]].append(node)
            continue
        if matches(node):
            segments.append((True, [node]))
            owner[node] = segments[-1][1]
        elif not segments or segments[-1][0]:
            segments.append((False, [node]))
        else:
            segments[-1][1].append(node)
    return segments


def _crosses(source: fx.Node, piece_of: dict[fx.Node, int], number: int) -> bool:
    return source.op == "placeholder" or (source.op != "get_attr" and piece_of[source] != number)


def _piece(
    whole: fx.GraphModule,
    nodes: Sequence[fx.Node],
    inputs: Sequence[fx.Node],
    outputs: Sequence[fx.Node],
    runs_eagerly: bool,
) -> Piece:
    graph = fx.Graph()
    inside: dict[fx.Node, fx.Node] = {}
    for node in inputs:
        inside[node] = graph.placeholder(node.name)
        inside[node].meta = dict(node.meta)
    for source in dict.fromkeys(source for node in nodes for source in node.all_input_nodes):
        if source.op == "get_attr":
            inside[source] = graph.node_copy(source)
    for node in nodes:
        inside[node] = graph.node_copy(node, lambda each: inside[each])
    graph.output(tuple(inside[node] for node in outputs))
    return Piece(fx.GraphModule(whole, graph), tuple(inputs), tuple(outputs), runs_eagerly)


def _check_state(segments: Sequence[tuple[bool, list[fx.Node]]]) -> None:
    """Each piece must leave autocast and grad mode as it found them."""
    for _, nodes in segments:
        entered: set[Any] = set()
        grad: Any = torch.is_grad_enabled()
        for node in nodes:
            if node.target is torch.amp._enter_autocast:
                entered.add(node)
            elif node.target is torch.amp._exit_autocast:
                if node.args[0] not in entered:
                    raise CannotSplitError("an autocast region reaches over a cut")
                entered.discard(node.args[0])
            elif node.target is torch._C._set_grad_enabled:
                grad = node.args[0]
            elif "saved_tensors_default_hooks" in str(getattr(node.target, "__name__", "")):
                raise CannotSplitError("hooks on saved tensors reach over a cut")
        if entered:
            raise CannotSplitError("an autocast region reaches over a cut")
        if grad != torch.is_grad_enabled():
            raise CannotSplitError("a change of grad mode reaches over a cut")
