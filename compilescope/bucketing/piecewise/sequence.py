"""A split graph as a list of steps: what recording it piece by piece must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx

from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.piecewise.stitch import attribute, last_uses
from compilescope.bucketing.piecewise.values import TracedPiece


@dataclass(frozen=True, slots=True)
class Step:
    """A compiled piece or an operator that runs eagerly. Values go by number.

    ``views`` says which outputs lie in the storage of an input. ``dead`` are made and needed no more.
    """

    name: str
    function: Artifact
    runs_eagerly: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    views: tuple[bool, ...]
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PieceSequence:
    """Values below ``arity`` are the arguments; ``constants`` are outputs that no step makes."""

    arity: int
    constants: Mapping[int, Any]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    @property
    def compiled_reads(self) -> frozenset[int]:
        """Values that a compiled piece reads: their addresses must stay."""
        return frozenset(value for step in self.steps if not step.runs_eagerly for value in step.inputs)

    @property
    def passed(self) -> frozenset[int]:
        """Arguments that no compiled piece reads: an operator may be given another one on each call."""
        return frozenset(range(self.arity)) - self.compiled_reads


def sequence_of(
    graph_module: fx.GraphModule, traced: Sequence[TracedPiece], functions: Sequence[Artifact]
) -> PieceSequence | None:
    """``functions`` are those that ``stitched`` calls, in its order. None where outputs are nested."""
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    if not isinstance(output.args[0], (tuple, list)):
        return None
    if any(not isinstance(each, fx.Node) and _has_nodes(each) for each in output.args[0]):
        return None
    numbers: dict[fx.Node, int] = {node: number for number, node in enumerate(placeholders)}
    pieces = [each.piece for each in traced]
    for piece in pieces:
        numbers |= {node: len(numbers) + number for number, node in enumerate(piece.outputs)}
    last = last_uses(pieces, output)
    steps = tuple(
        Step(
            _name(each),
            function,
            each.piece.runs_eagerly,
            tuple(numbers[node] for node in each.piece.inputs),
            tuple(numbers[node] for node in each.piece.outputs),
            each.views,
            tuple(numbers[node] for node, at in last.items() if at == number),
        )
        for number, (each, function) in enumerate(zip(traced, functions, strict=True))
    )
    constants: dict[int, Any] = {}
    outputs: list[int] = []
    for each in output.args[0]:
        if isinstance(each, fx.Node) and each in numbers:
            outputs.append(numbers[each])
            continue
        constants[len(numbers) + len(constants)] = (
            attribute(graph_module, str(each.target)) if isinstance(each, fx.Node) else each
        )
        outputs.append(len(numbers) + len(constants) - 1)
    return PieceSequence(len(placeholders), constants, steps, tuple(outputs))


def _has_nodes(value: Any) -> bool:
    found: list[fx.Node] = []
    fx.node.map_arg(value, found.append)
    return bool(found)


def _name(traced: TracedPiece) -> str:
    nodes = [node for node in traced.piece.graph_module.graph.nodes if node.op.startswith("call")]
    return str(nodes[0].name) if nodes else "piece"
