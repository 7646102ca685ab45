"""The two graphs that AOTAutograd makes of one that is trained, and what serves their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

Boxed = Callable[[list[Any]], Sequence[Any]]
"""Takes its arguments in a list, which it empties: nobody else holds what it frees on the way."""


@dataclass(frozen=True, slots=True)
class Half:
    """``graph`` calls its ``current_callable``: Inductor's CompiledFxGraph does, and NodeByNode."""

    graph: Any
    is_backward: bool

    @property
    def function(self) -> Boxed:
        return self.graph.current_callable  # type: ignore[no-any-return]

    def serve_with(self, function: Boxed) -> None:
        self.graph.current_callable = function


class NodeByNode:
    """A graph of AOTAutograd's run as it is, one operator after the other."""

    def __init__(self, graph: fx.GraphModule) -> None:
        self._boxed_call = True  # AOTAutograd looks for it, and Dynamo hands on what an instance has
        self.current_callable: Boxed = lambda arguments: fx.Interpreter(graph).boxed_run(arguments)
        self.mutated_input_idxs = _written(graph)

    def __call__(self, arguments: list[Any]) -> Any:
        return self.current_callable(arguments)


def forward_and_backward(halves: Sequence[Half]) -> tuple[Half, Half] | None:
    """What one compile of a graph that is trained has left; None when it is anything but one of each."""
    forwards = [half for half in halves if not half.is_backward]
    backwards = [half for half in halves if half.is_backward]
    return (forwards[0], backwards[0]) if len(forwards) == len(backwards) == 1 else None


def _written(graph: fx.GraphModule) -> list[int]:
    """Which inputs the graph writes: AOTAutograd leaves in it what must be written where it is."""
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    written = {
        value
        for node in graph.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        for value, taken in zip(node.args, node.target._schema.arguments, strict=False)
        if taken.is_write
    }
    return [number for number, each in enumerate(inputs) if each in written]
