"""Graphs of which no rung can be made safely: compiled as torch.compile would, and the report says why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from compilescope.bucketing._torch import expression
from compilescope.bucketing.identify import BoundName, Placeholder

_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, FakeTensor)


def bypass_reason(
    graph_module: torch.fx.GraphModule,
    inputs: Sequence[Placeholder],
    examples: Sequence[Any],
    names: dict[str, BoundName],
) -> str | None:
    """Why this graph gets no rungs; None when it can have them."""
    pairs = list(zip(inputs, examples, strict=True))
    return (
        _unnamed(names)
        or next((reason for each, example in pairs if (reason := _odd_tensor(each, example))), None)
        or next((reason for each, example in pairs if (reason := _reshaped(each, example))), None)
        or _shared_and_mutated(graph_module, pairs)
    )


def _unnamed(names: dict[str, BoundName]) -> str | None:
    if not names:
        return "no input has a dimension that was given a ladder"
    if any(bound.symbols for bound in names.values()):
        return None
    name, bound = next(iter(names.items()))
    if bound.static is None:
        return f"{name} is {bound.where}"
    if bound.static in (0, 1):
        return f"{name} is {bound.where} == {bound.static}: Dynamo makes sizes 0 and 1 constants"
    return f"{name} is {bound.where} == {bound.static}: not marked dynamic, or the model's code fixes it"


def _odd_tensor(each: Placeholder, example: Any) -> str | None:
    tensor = each.value
    if not isinstance(tensor, torch.Tensor):
        return None
    if isinstance(example, torch.Tensor) and type(example) not in _PLAIN_TENSORS:
        return f"input {each.name} is a {type(example).__name__}: a tensor subclass"
    if tensor.layout != torch.strided:
        return f"input {each.name} has layout {tensor.layout}"
    if tensor.is_conj() or tensor.is_neg():
        return f"input {each.name} is a lazy conjugate or negative"
    return None


def _reshaped(each: Placeholder, example: Any) -> str | None:
    """``x.unsqueeze_(0)`` changes the traced value under us: it no longer shows the shape that was passed."""
    fake = each.value
    if (
        not isinstance(fake, torch.Tensor)
        or not isinstance(example, torch.Tensor)
        or isinstance(example, FakeTensor)
    ):
        return None
    known = [(expression(size), actual) for size, actual in zip(fake.shape, example.shape, strict=False)]
    if fake.dim() == example.dim() and all(int(size) == actual for size, actual in known if size.is_number):
        return None
    return f"the graph changes the shape of its input {each.name} in place"


def _shared_and_mutated(
    graph_module: torch.fx.GraphModule, pairs: Iterable[tuple[Placeholder, Any]]
) -> str | None:
    """Two inputs in one storage, one of them written: the artifact would depend on how they overlap."""
    owners: dict[int, list[str]] = {}
    for each, example in pairs:
        if (
            isinstance(example, torch.Tensor)
            and not isinstance(example, FakeTensor)
            and example.layout == torch.strided
        ):
            owners.setdefault(example.untyped_storage()._cdata, []).append(each.name)
    shared = {name for names in owners.values() if len(names) > 1 for name in names}
    written = shared & possibly_mutated(graph_module) if shared else set()
    if written:
        return f"input {min(written)} is written in place and shares its storage with another input"
    return None


def possibly_mutated(graph_module: torch.fx.GraphModule) -> set[str]:
    """Inputs whose version counter moved while Dynamo traced: written directly or through a view of them."""
    return {
        node.name
        for node in graph_module.graph.nodes
        if node.op == "placeholder"
        and isinstance(value := node.meta.get("example_value"), torch.Tensor)
        and value._version > 0
    }
