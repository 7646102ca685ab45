"""Decide whether one captured graph can be padded along one name, and how its outputs are cut back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext, tracing

from compilescope.bucketing._torch import expression
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.concretize import PrivateWorld, literal_copy
from compilescope.bucketing.identify import BoundName, Placeholder, argument_of
from compilescope.bucketing.padding.contract import Pad, PaddingRefusedError
from compilescope.bucketing.padding.outputs import AliasOutput, CutOutput, Outputs, PaddedInput
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.tracker import GraphWalk, RowTracker
from compilescope.bucketing.padding.values import FINITE, TRUTH, Values, exactly


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
    aliases: tuple[AliasOutput, ...]
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
            if contract is None and trait.is_passed_on and not trait.argument:
                # Behind a graph break: any value will do, if the graph turns out to keep it from real rows.
                contract = Pad(argument, dim, 0)
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
    storages = {p.position: world.arguments[p.position].untyped_storage()._cdata for p in inputs}
    found = Outputs(captured, tracker, world, results, inputs)
    cuts, numbers = found.cuts(_overrides(contracts)), found.numbers()
    aliases = found.aliases(cuts)
    views = {alias.position for alias in aliases}
    return Inspection(
        name=name,
        symbols=symbols,
        inputs=tuple(
            PaddedInput(p.position, p.dim, p.value, storages[p.position] in tracker.written) for p in inputs
        ),
        outputs=tuple(cut for cut in cuts if cut.position not in views),
        aliases=tuple(aliases),
        numbers=tuple(numbers),
        random=tuple(dict.fromkeys(tracker.random)),
        trusted=tuple(dict.fromkeys(tracker.taken_on_trust)),
        most=tracker.most,
        most_line=tracker.most_line,
    )


def _overrides(contracts: Sequence[Pad]) -> dict[int, int | None]:
    return {number: dim for each in contracts for number, dim in (each.unpad_outputs or {}).items()}
