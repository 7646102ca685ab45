"""Decide whether one captured graph can be padded along one name, and how its outputs are cut back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext, tracing

from compilescope.bucketing._torch import expression
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.concretize import PrivateWorld, literal_copy
from compilescope.bucketing.identify import BoundName, Placeholder, argument_of
from compilescope.bucketing.padding.contract import Pad, PaddingRefusedError
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.tracker import GraphWalk, RowTracker, line_of
from compilescope.bucketing.padding.values import FINITE, TRUTH, Values, exactly


@dataclass(frozen=True, slots=True)
class PaddedInput:
    """Input ``position`` grows along ``dim`` with ``value``; ``is_written`` when the graph changes it."""

    position: int
    dim: int
    value: float
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class CutOutput:
    """Tensor output ``position`` is cut along ``dim`` to ``outer * rows * inner`` entries.

    Sizes are sympy over the symbols of the trace; ``shape`` and ``strides`` are those of the whole output.
    """

    position: int
    dim: int
    rows: Any
    outer: Any
    inner: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    element_size: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What padding one name does to a graph, while all its ``symbols`` are equal.

    ``numbers`` are outputs that are sizes, as sympy of the trace.
    ``random`` are operations whose draws differ from those of the unpadded graph, ``trusted`` operations that
    only a comparison can vouch for. ``most`` is the largest rung the graph's tables have places for.
    """

    name: str
    symbols: tuple[Any, ...]
    inputs: tuple[PaddedInput, ...]
    outputs: tuple[CutOutput, ...]
    numbers: tuple[tuple[int, Any], ...]
    random: tuple[str, ...]
    trusted: tuple[str, ...]
    most: int
    most_line: str | None


def inspect_padding(
    captured: CapturedGraph, name: str, bound: BoundName, contracts: Sequence[Pad], others: Sequence[Pad] = ()
) -> Inspection:
    """Follow the rows of ``name``, whose padding ``contracts`` allow, through the graph.

    Inputs may be padded along another name at the same time, as ``others`` say. Raises PaddingRefusedError.
    """
    symbol, *equal = bound.symbols
    inputs = _padded_inputs(captured, name, frozenset(bound.symbols), contracts)
    with captured.state.restored(), torch.inference_mode(False), torch.no_grad():
        world = PrivateWorld(
            captured.inputs, captured.traits, captured.shape_env, {}, equal=dict.fromkeys(equal, symbol)
        )
        tracker = RowTracker(_private(world, symbol), captured.state.grad_enabled, _masks(contracts))
        graph = literal_copy(captured.graph_module, world.mapping)
        _declare(tracker, captured, world, inputs, others)
        # Without Python's dispatcher some kernels read sizes as plain numbers, which would fix them.
        context = tracing(TracingContext(world.fake_mode))
        with context, world.fake_mode, enable_python_dispatcher(), tracker:
            try:
                results = GraphWalk(graph, tracker, world.fake_mode).run(*world.arguments)
            finally:
                tracker.leave()
    if tracker.symbol in world.shape_env.replacements:
        fixed = world.shape_env.replacements[tracker.symbol]
        raise PaddingRefusedError(f"the graph fixes {name} to {fixed}")
    return _inspection(captured, name, bound.symbols, tracker, world, inputs, list(results), contracts)


def _private(world: PrivateWorld, symbol: Any) -> Any:
    return world.mapping[symbol]


def _masks(contracts: Sequence[Pad]) -> frozenset[str]:
    return frozenset(each.mask for each in contracts if each.mask is not None)


def _padded_inputs(
    captured: CapturedGraph, name: str, symbols: frozenset[Any], contracts: Sequence[Pad]
) -> tuple[PaddedInput, ...]:
    """Every dimension of every input that has one of the symbols, with its contract."""
    by_place = {(each.arg, each.dim): each for each in contracts}
    found = []
    for each, trait in zip(captured.inputs, captured.traits, strict=True):
        if not isinstance(each.value, torch.Tensor):
            continue
        for dim, size in enumerate(each.value.shape):
            if not symbols & expression(size).free_symbols:
                continue
            argument = trait.argument or argument_of(each)
            contract = by_place.get((argument, dim))
            if contract is None:
                where = argument or each.source or each.name
                raise PaddingRefusedError(
                    f"dimension {dim} of {where} is {name} too, and no contract says how to pad it"
                )
            if expression(size) not in symbols:
                raise PaddingRefusedError(f"dimension {dim} of {argument} is {expression(size)}, not {name}")
            if trait.is_parameter:
                raise PaddingRefusedError(f"{argument} is a parameter")
            _check_layout(each, argument, dim)
            value = _of_dtype(contract.value, each.value.dtype, argument)
            found.append(PaddedInput(each.position, dim, value))
    return tuple(found)


def _of_dtype(value: float, dtype: torch.dtype, argument: str) -> float:
    """What an entry of ``dtype`` will be. Raises PaddingRefusedError where it cannot be ``value``."""
    if dtype == torch.bool:
        return bool(value)
    if dtype.is_floating_point or dtype.is_complex:
        return value if dtype.is_complex else float(torch.tensor(value, dtype=torch.float64).to(dtype))
    if (
        math.isinf(value)
        or value != int(value)
        or not torch.iinfo(dtype).min <= value <= torch.iinfo(dtype).max
    ):
        raise PaddingRefusedError(f"{argument} is {dtype}, which has no {value:g}")
    return int(value)


def _check_layout(each: Placeholder, argument: str, padded: int) -> None:
    """A longer copy has the strides of the trace where those follow from its sizes.

    A pitch of the padded dimension itself, as of columns of a wider tensor, is kept too: nothing meets there.
    """
    sizes = {s for size in each.value.shape for s in expression(size).free_symbols}
    for dim, step in enumerate(each.value.stride()):
        if expression(step) == 0:
            raise PaddingRefusedError(f"{argument} is expanded: its entries share their memory")
        if dim == padded and expression(step).is_Symbol:
            continue
        own = expression(step).free_symbols - sizes
        if own:
            raise PaddingRefusedError(f"{argument} has a stride of its own ({min(own, key=str)})")


def _declare(
    tracker: RowTracker,
    captured: CapturedGraph,
    world: PrivateWorld,
    inputs: Sequence[PaddedInput],
    others: Sequence[Pad],
) -> None:
    for each, argument, trait in zip(captured.inputs, world.arguments, captured.traits, strict=True):
        if not isinstance(argument, torch.Tensor):
            continue
        own = {padded.dim: padded for padded in inputs if padded.position == each.position}
        last = max(own, default=None)
        whole = TRUTH if argument.dtype == torch.bool else FINITE
        pads = {
            dim: _pads(padded, own[last].value, dim == last)
            for dim, padded in own.items()
            if last is not None
        }
        name = trait.argument or argument_of(each)
        for known in (*pads.values(), *(exactly(other.value) for other in others if other.arg == name)):
            whole = whole.join(known)
        axes = tuple(
            Axis(expression(size), pads[dim]) if dim in own else None
            for dim, size in enumerate(argument.shape)
        )
        tracker.declare(argument, Rows(axes, whole, frozenset({name} - {""})))


def _pads(padded: PaddedInput, last: float, is_last: bool) -> Values:
    """Where two padded dimensions of a tensor meet, the entry has the value of the later one."""
    return exactly(padded.value) if is_last else exactly(padded.value).join(exactly(last))


def _inspection(
    captured: CapturedGraph,
    name: str,
    symbols: tuple[Any, ...],
    tracker: RowTracker,
    world: PrivateWorld,
    inputs: Sequence[PaddedInput],
    results: list[Any],
    contracts: Sequence[Pad],
) -> Inspection:
    theirs = dict(world.free)
    storages = {p.position: world.arguments[p.position].untyped_storage()._cdata for p in inputs}
    cuts, numbers = _cut_outputs(captured, tracker, results, theirs, _overrides(contracts))
    _check_aliases(captured, results, storages, cuts)
    return Inspection(
        name=name,
        symbols=symbols,
        inputs=tuple(
            PaddedInput(p.position, p.dim, p.value, storages[p.position] in tracker.written) for p in inputs
        ),
        outputs=tuple(cuts),
        numbers=tuple(numbers),
        random=tuple(dict.fromkeys(tracker.random)),
        trusted=tuple(dict.fromkeys(tracker.taken_on_trust)),
        most=tracker.most,
        most_line=tracker.most_line,
    )


def _overrides(contracts: Sequence[Pad]) -> dict[int, int | None]:
    return {number: dim for each in contracts for number, dim in (each.unpad_outputs or {}).items()}


def _cut_outputs(
    captured: CapturedGraph,
    tracker: RowTracker,
    results: Sequence[Any],
    theirs: Mapping[Any, Any],
    overrides: Mapping[int, int | None],
) -> tuple[list[CutOutput], list[tuple[int, Any]]]:
    cuts: list[CutOutput] = []
    numbers: list[tuple[int, Any]] = []
    tracker.line = _output_line(captured.graph_module)
    for position, value in enumerate(results):
        if isinstance(value, torch.Tensor):
            cuts += _cuts_of(position, value, tracker, theirs, overrides)
        elif tracker.carries(value):
            if isinstance(value, torch.SymBool):
                raise tracker.refusal("an output", "is a comparison of the padded size")
            numbers.append((position, value.node.expr.xreplace(theirs)))
    return cuts, numbers


def _cuts_of(
    position: int,
    tensor: torch.Tensor,
    tracker: RowTracker,
    theirs: Mapping[Any, Any],
    overrides: Mapping[int, int | None],
) -> list[CutOutput]:
    axes = tracker.rows(tensor).axes
    if position in overrides:
        wanted = overrides[position]
        if wanted is not None and (wanted >= tensor.dim() or axes[wanted] is None):
            raise tracker.refusal(f"dimension {wanted} of output {position}", "has no padded rows")
        axes = tuple(axis if dim == wanted else None for dim, axis in enumerate(axes))
    shape = tuple(expression(size).xreplace(theirs) for size in tensor.shape)
    strides = tuple(expression(step).xreplace(theirs) for step in tensor.stride())
    return [
        CutOutput(
            position,
            dim,
            axis.rows.xreplace(theirs),
            axis.outer.xreplace(theirs),
            axis.inner.xreplace(theirs),
            shape,
            strides,
            tensor.element_size(),
        )
        for dim, axis in enumerate(axes)
        if axis is not None
    ]


def _check_aliases(
    captured: CapturedGraph, results: Sequence[Any], storages: Mapping[int, int], cuts: Sequence[CutOutput]
) -> None:
    padded = {storage: position for position, storage in storages.items()}
    for value in results:
        storage = value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None
        if storage in padded:
            name = captured.inputs[padded[storage]].name
            line = _output_line(captured.graph_module)
            raise PaddingRefusedError(f"an output is a view of the padded input {name}", line)
    shared = Counter(v.untyped_storage()._cdata for v in results if isinstance(v, torch.Tensor))
    for cut in cuts:
        symbols = cut.rows.free_symbols
        is_copied = cut.outer != 1 or any(step.free_symbols & symbols for step in cut.strides)
        if is_copied and shared[results[cut.position].untyped_storage()._cdata] > 1:
            line = _output_line(captured.graph_module)
            raise PaddingRefusedError(
                "two outputs share their storage, and one must be copied to cut it", line
            )


def _output_line(graph_module: fx.GraphModule) -> str | None:
    """The last line the graph comes from: outputs have none of their own."""
    lines = [line_of(node) for node in graph_module.graph.nodes]
    return next((line for line in reversed(lines) if line), None)
