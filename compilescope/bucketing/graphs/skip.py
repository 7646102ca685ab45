"""Why a rung gets no CUDA graph: found by inspecting it, before anything is recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from compilescope.bucketing.compile import CapturedGraph, CompiledRung
from compilescope.bucketing.graphs.buffers import BufferPlan, overlaps_itself
from compilescope.bucketing.halves import forward_and_backward
from compilescope.bucketing.identify import Placeholder, traced_value
from compilescope.bucketing.preconditions import possibly_mutated

_CONTROL_FLOW = {"cond", "while_loop", "map", "map_impl", "scan", "associative_scan", "switch"}
_ALIASES = {"alias_of_input", "is_input"}


@dataclass(frozen=True, slots=True)
class Between:
    """What is left out of a recording: operators that ``runs_eagerly`` matches, inputs ``passed`` to them."""

    runs_eagerly: Callable[[fx.Node], bool]
    passed: frozenset[int]


_NOTHING = Between(lambda _: False, frozenset())


def skip_reason(
    captured: CapturedGraph, compiled: CompiledRung, device_type: str = "cuda", between: Between = _NOTHING
) -> str | None:
    """Why this rung cannot be recorded; None when it can be tried. ``device_type`` is what records."""
    return (
        _not_static(compiled)
        or _training(captured, compiled)
        or _inputs(captured, compiled, device_type, between.passed)
        or nodes_reason(captured.graph_module, device_type, between.runs_eagerly)
        or _mutation(captured, compiled, between.passed)
        # What autograd gets is AOTAutograd's affair, which makes such outputs outside of what is recorded.
        or (None if is_trained(captured, compiled) else _aliases(captured, compiled, between.passed))
    )


def _not_static(compiled: CompiledRung) -> str | None:
    if compiled.world.free:
        free = ", ".join(sorted(str(symbol) for symbol in compiled.world.free.values()))
        return f"free symbols: {free}"
    if compiled.predicate:
        return f"residual guards: {' and '.join(compiled.predicate)}"
    return None


def is_trained(captured: CapturedGraph, compiled: CompiledRung) -> bool:
    """Whether its calls are differentiated: then its forward and its backward are recorded."""
    wanted = [trait.requires_grad for trait in captured.traits]
    wanted += [each.requires_grad for each in captured.graph_module.parameters()]
    if not captured.state.grad_enabled or not any(wanted):
        return False
    output = next(node for node in captured.graph_module.graph.nodes if node.op == "output")
    results = [traced_value(node) for node in output.all_input_nodes]
    # Inputs may require gradients that no result does: AOTAutograd finds out, and makes no backward.
    is_forward_only = [half.is_backward for half in compiled.notes.halves] == [False]
    return not is_forward_only or any(getattr(each, "requires_grad", False) for each in results)


def is_beside_training(captured: CapturedGraph) -> bool:
    """Whether a backward may read its results although it needs none: frozen, or a reentrant checkpoint's."""
    given = zip(captured.inputs, captured.traits, strict=True)
    return captured.state.grad_enabled or any(
        trait.requires_grad and not (trait.is_parameter or each.keeps_address) for each, trait in given
    )


def _training(captured: CapturedGraph, compiled: CompiledRung) -> str | None:
    if not is_trained(captured, compiled):
        return None
    for each in captured.inputs:
        if is_traceable_wrapper_subclass(each.value):
            return f"training: input {each.name} is a {type(each.value).__name__}"
    if captured.graph_module.state_dict():
        # inline_inbuilt_nn_modules=False: what a recording would copy and what it reads cannot be told apart.
        return "training: the graph has parameters or buffers that are not its inputs"
    halves = forward_and_backward(compiled.notes.halves)
    if halves is None or getattr(compiled.metadata, "num_forward", None) is None:
        return "training: it is not compiled as one forward and one backward"
    if getattr(halves[1].graph, "mutated_input_idxs", None):
        return "training: its backward writes what it is given"
    return None


def _inputs(
    captured: CapturedGraph, compiled: CompiledRung, device_type: str, passed: frozenset[int]
) -> str | None:
    devices = set()
    for each, argument in zip(captured.inputs, compiled.world.arguments, strict=True):
        if each.position in passed:
            if isinstance(argument, torch.Tensor) and argument.device.type == device_type:
                devices.add(argument.device)
        elif isinstance(argument, torch.Tensor):
            if argument.device.type != device_type:
                return f"not a {device_type.upper()} device: input {each.name} is on {argument.device}"
            devices.add(argument.device)
            if not each.keeps_address and overlaps_itself(argument):
                return f"input {each.name} overlaps itself: it cannot be copied"
        elif not isinstance(argument, int):
            return f"input {each.name} is a {type(argument).__name__}, which a recording would freeze"
    if len(devices) != 1:
        return f"inputs on {len(devices)} devices"
    return None


def nodes_reason(
    graph_module: fx.GraphModule, device_type: str, runs_eagerly: Callable[[fx.Node], bool] | None = None
) -> str | None:
    """The first operation that a recording would freeze or that could not be recorded.

    What ``runs_eagerly`` is not recorded: there only matters what compiled code reads of its results.
    """
    eager = _eager_nodes(graph_module, runs_eagerly or _NOTHING.runs_eagerly)
    for node in eager:
        for value in _values(traced_value(node)):
            if isinstance(value, torch.Tensor) and value.device.type != device_type:
                reader = next(
                    (user for user in node.users if user not in eager and user.op != "output"), None
                )
                if reader is not None:
                    return f"{_op_name(reader.target)} reads a tensor on {value.device}"
    for node in _all_nodes(graph_module, eager):
        name = _op_name(node.target)
        if name in _CONTROL_FLOW:
            return f"{name}: its branch is chosen on the host"
        if _is_collective(node.target):
            return f"{name} waits for other ranks, which may not replay"
        if name == "as_strided":
            return "as_strided may reach beyond what is copied"
        if node.kwargs.get("generator") is not None:
            return f"{name} draws from a random generator that no graph knows"
        for value in _values(traced_value(node)):
            if isinstance(value, torch.Tensor) and value.device.type != device_type:
                return f"{name} makes a tensor on {value.device}"
            if _comes_from_data(value):
                return f"free symbols: the result of {name} has a size that comes from data"
    return None


def _mutation(captured: CapturedGraph, compiled: CompiledRung, passed: frozenset[int]) -> str | None:
    plan = BufferPlan.of(captured.inputs, compiled.world.arguments, passed)
    copied = {each.position for each in plan.copied}
    for each in mutated_inputs(captured, compiled):
        if each.position in copied:
            return f"input {each.name} is written in place, and would be written in its copy"
    return None


def mutated_inputs(captured: CapturedGraph, compiled: CompiledRung) -> list[Placeholder]:
    """Inputs the graph writes, by Dynamo's trace and by AOTAutograd's analysis where there is one."""
    names = possibly_mutated(captured.graph_module)
    found = [each for each in captured.inputs if each.name in names]
    for each, info in zip(captured.inputs, _input_facts(captured, compiled), strict=False):
        if (info.mutates_data or info.mutates_metadata) and each not in found:
            found.append(each)
    return found


def _aliases(captured: CapturedGraph, compiled: CompiledRung, passed: frozenset[int]) -> str | None:
    for number, info in enumerate(getattr(compiled.metadata, "output_info", ())):
        if info.output_type.name in _ALIASES:
            return f"output {number} is an input or a view of one"
    storages = {
        each.value.untyped_storage()._cdata: each.name
        for each in captured.inputs
        if isinstance(each.value, torch.Tensor) and each.position not in passed
    }
    output = next(node for node in captured.graph_module.graph.nodes if node.op == "output")
    for node in output.all_input_nodes:
        value = traced_value(node)
        if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata in storages:
            return f"output {node.name} is input {storages[value.untyped_storage()._cdata]} or a view of it"
    return None


def _input_facts(captured: CapturedGraph, compiled: CompiledRung) -> list[Any]:
    """AOTAutograd's facts on the graph's inputs; it puts attributes of the graph in front of them."""
    facts = list(getattr(compiled.metadata, "input_info", ()))
    return facts[len(facts) - len(captured.inputs) :] if len(facts) >= len(captured.inputs) else []


def _eager_nodes(
    graph_module: fx.GraphModule, runs_eagerly: Callable[[fx.Node], bool]
) -> dict[fx.Node, None]:
    """Those that match, what takes their results apart, and attributes that only they read."""
    found: dict[fx.Node, None] = {}
    for node in graph_module.graph.nodes:
        if runs_eagerly(node) or (node.target is operator.getitem and node.args[0] in found):
            found[node] = None
    for node in graph_module.graph.nodes:
        if node.op == "get_attr" and node.users and all(user in found for user in node.users):
            found[node] = None
    return found


def _all_nodes(graph_module: fx.GraphModule, eager: Container[fx.Node]) -> Iterator[fx.Node]:
    """Of the graph and of the bodies of its higher-order operators, but for those that are ``eager``."""
    left_out: set[Any] = set()
    for node in graph_module.graph.nodes:
        body = getattr(graph_module, str(node.target), None) if node.op == "get_attr" else None
        if node in eager and isinstance(body, torch.nn.Module):
            left_out.update(body.modules())
    for module in graph_module.modules():
        if isinstance(module, fx.GraphModule) and module not in left_out:
            for node in module.graph.nodes:
                if node.op not in ("placeholder", "output") and node not in eager:
                    yield node


def _op_name(target: Any) -> str:
    if isinstance(target, str):
        return target.rsplit(".", 1)[-1]
    name = getattr(target, "__name__", None) or str(target)
    return str(name).split(".")[0]


def _is_collective(target: Any) -> bool:
    qualified = getattr(target, "_qualified_op_name", None) or getattr(target, "name", lambda: "")
    return str(qualified() if callable(qualified) else qualified).startswith(("_c10d_functional", "c10d"))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _values(each)
    else:
        yield value


def _comes_from_data(value: Any) -> bool:
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return any(
        isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool))
        and any(str(symbol).startswith(("u", "zu")) for symbol in size.node.expr.free_symbols)
        for size in sizes
    )
