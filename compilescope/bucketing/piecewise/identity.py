"""When two pieces are the same: one compile serves both, parameters being arguments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import fx

from compilescope.bucketing._torch import expression
from compilescope.bucketing.piecewise.cut import Piece
from compilescope.bucketing.state import GlobalState

_READ_BY_COMPILERS = ("recompute", "ac_graph_id", "partitioner_tag", "custom")


class _Ref:
    """Stands for a node in the text of an argument."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __repr__(self) -> str:
        return f"%{self._number}"


def identity(piece: Piece, arguments: Sequence[Any], shape_env: Any) -> Hashable:
    """Equal for pieces of one structure on inputs of one kind, in one state of the thread.

    Sizes that are symbols are only comparable within their own ShapeEnv.
    """
    inputs = tuple(_input(argument) for argument in arguments)
    is_symbolic = any(symbolic for symbolic, _ in inputs)
    return (
        _structure(piece.graph_module),
        tuple(facts for _, facts in inputs),
        GlobalState.now(),
        shape_env if is_symbolic else None,
    )


def _structure(graph_module: fx.GraphModule) -> Hashable:
    numbers = {node: number for number, node in enumerate(graph_module.graph.nodes)}

    def text(value: Any) -> str:
        return repr(fx.node.map_arg(value, lambda node: _Ref(numbers[node])))

    lines: list[Hashable] = []
    for node in graph_module.graph.nodes:
        target: Hashable = node.target
        if node.op == "placeholder":
            target = None
        elif node.op == "get_attr":
            # The very attribute: equal ones are rare, and comparing tensors would read them.
            target = id(_attribute(graph_module, node.target))
        notes = tuple(str(node.meta[key]) for key in _READ_BY_COMPILERS if key in node.meta)
        lines.append((node.op, target, text(node.args), text(node.kwargs), notes))
    return tuple(lines)


def _attribute(graph_module: fx.GraphModule, path: str) -> Any:
    value: Any = graph_module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _input(argument: Any) -> tuple[bool, Hashable]:
    if isinstance(argument, torch.SymInt):
        return True, str(expression(argument))
    if not isinstance(argument, torch.Tensor):
        return False, (type(argument).__name__, repr(argument))
    sizes = (*argument.shape, *argument.stride(), argument.storage_offset())
    facts = (
        argument.dim(),
        tuple(str(size) for size in sizes),
        argument.dtype,
        argument.device,
        argument.requires_grad,
        isinstance(argument, torch.nn.Parameter),
    )
    return any(isinstance(size, torch.SymInt) for size in sizes), facts
