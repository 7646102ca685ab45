"""One plain Python function that calls the pieces in order and lets go of what is not needed any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.piecewise.cut import Piece


def stitched(
    graph_module: fx.GraphModule, pieces: Sequence[Piece], functions: Sequence[Artifact]
) -> tuple[Callable[..., Any], str]:
    """The function and its source. Inputs stay the caller's; every other value dies after its last use."""
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    attributes = [node for node in output.all_input_nodes if node.op == "get_attr"]
    names = {node: f"a{number}" for number, node in enumerate(placeholders)}
    names |= {node: f"c{number}" for number, node in enumerate(attributes)}
    for piece in pieces:
        names |= {node: f"v{len(names) + number}" for number, node in enumerate(piece.outputs)}
    last = last_uses(pieces, output)
    lines = [f"def stitched({', '.join(names[node] for node in placeholders)}):"]
    for number, piece in enumerate(pieces):
        targets = "".join(f"{names[node]}, " for node in piece.outputs)
        call = f"piece_{number}({', '.join(names[node] for node in piece.inputs)})"
        lines.append(f"    {targets}= {call}" if targets else f"    {call}")
        dead = [names[node] for node, at in last.items() if at == number]
        lines += [f"    del {', '.join(dead)}"] if dead else []
    lines.append(f"    return {fx.node.map_arg(output.args[0], lambda node: _Name(names[node]))!r}")
    source = "\n".join(lines) + "\n"
    scope: dict[str, Any] = {f"piece_{number}": function for number, function in enumerate(functions)}
    scope |= {names[node]: attribute(graph_module, str(node.target)) for node in attributes}
    scope |= {"device": torch.device, "torch": torch}
    exec(source, scope)
    return scope["stitched"], source


class _Name:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def last_uses(pieces: Sequence[Piece], output: fx.Node) -> dict[fx.Node, int]:
    """For each value made by a piece: the piece that uses it last, or makes it for nobody here."""
    last: dict[fx.Node, int] = {}
    for number, piece in enumerate(pieces):
        last |= {node: number for node in piece.inputs if node.op != "placeholder"}
        last |= dict.fromkeys(piece.outputs, number)
    for node in output.all_input_nodes:
        last.pop(node, None)
    return last


def attribute(graph_module: fx.GraphModule, path: str) -> Any:
    """What a get_attr node reads."""
    value: Any = graph_module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def with_expected_strides(function: Artifact, outputs: Sequence[Any]) -> Artifact:
    """``function`` with its results in the layout that was traced, which the next piece was compiled for.

    Attention kernels choose layouts that their fake versions do not always know.
    """
    orders = [_order(value) for value in outputs]

    def run(*arguments: Any) -> Any:
        return [
            _laid_out(value, order) if order is not None else value
            for value, order in zip(function(*arguments), orders, strict=True)
        ]

    return run


def _order(value: Any) -> tuple[int, ...] | None:
    """The dimensions from the outermost in memory to the innermost, of a dense tensor; None for others."""
    if not isinstance(value, torch.Tensor):
        return None
    order = tuple(sorted(range(value.dim()), key=lambda dim: -_plain(value.stride(dim))))
    shape = tuple(_plain(size) for size in value.shape)
    actual = tuple(_plain(step) for step in value.stride())
    return order if _same(shape, _strides(shape, order), actual) else None


def _plain(value: Any) -> int:
    """The value a symbol was traced with: only the order of strides matters, and it is that of all sizes."""
    return int(value.node.hint) if isinstance(value, torch.SymInt) else int(value)


def _strides(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def _same(shape: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Nothing steps along a dimension of size 1: its stride is anything."""
    return all(size == 1 or a == b for size, a, b in zip(shape, one, other, strict=True))


def _laid_out(value: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    wanted = _strides(value.shape, order)
    if _same(value.shape, value.stride(), wanted):
        return value
    return torch.empty_strided(value.shape, wanted, dtype=value.dtype, device=value.device).copy_(value)
