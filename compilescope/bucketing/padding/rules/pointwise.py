"""Operations that compute each entry from the entries at the same place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from compilescope.bucketing.padding.operation import Operation, sizes
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.values import (
    ANYTHING,
    FINITE,
    TRUTH,
    Values,
    exactly,
    of_operation,
    truth,
)

_COMPARISONS = {
    "le": (False, True),
    "lt": (False, True),
    "ge": (True, False),
    "gt": (True, False),
    "eq": (False, False),
    "ne": (True, True),
}
"""What they say of a place that is later than the other: when it is the first operand, and the second."""

COUNTING = (torch.int32, torch.int64, torch.float32, torch.float64)
"""Types that tell each place from the next: bfloat16 rounds 257 to 256."""

_DIVISIONS = ("div", "floor_divide", "remainder", "fmod")
"""Of integers by 0 they raise on a CPU, for padded rows too."""

_NOT_OPERANDS = ("rounding_mode", "approximate", "non_blocking", "memory_format", "dtype", "layout")


def pointwise(operation: Operation) -> list[Rows]:
    out = operation.result if isinstance(operation.result, torch.Tensor) else None
    if out is None:
        raise operation.refuse("has several results and no rule")
    if operation.name in _DIVISIONS and not out.dtype.is_floating_point and _may_be_zero(operation):
        raise operation.refuse("divides integers by padded rows that may be 0")
    operands = [
        value
        for name, value in operation.arguments.items()
        if value is not None and name not in _NOT_OPERANDS
    ]
    if operation.name in ("add", "sub") and operation.values_of(operands[1]).only == 0:
        rows = operation.rows(operands[0])
        if len(rows.axes) == out.dim() and sizes(operands[0]) == sizes(out):
            return [rows]
    combined = _combined(operation, operands, out)
    return [_by_place(operation, operands, _moved(operation, operands, combined))]


def _may_be_zero(operation: Operation) -> bool:
    divisor = operation["other"]
    if not isinstance(divisor, torch.Tensor):
        return False
    pads = [axis.pads for axis in operation.rows(divisor).axes if axis is not None]
    return any(each.low <= 0 <= each.high for each in pads)


def _combined(operation: Operation, operands: list[Any], out: torch.Tensor) -> Rows:
    axes = tuple(_axis(operation, operands, out, dim) for dim in range(out.dim()))
    given = [_whole(operation, each) for each in operands]
    whole = of_operation(_name(operation), given)
    if whole == ANYTHING and all(each.finite for each in given):
        # Of real rows this is what eager computes, and taken to be finite as its inputs are.
        whole = FINITE
        for axis in axes:
            whole = whole if axis is None else whole.join(axis.pads)
    return Rows(axes, _typed(whole, out))


def _by_place(operation: Operation, operands: list[Any], rows: Rows) -> Rows:
    """Places compared with places: behind the real rows of one axis is later than all of another's.

    So a mask of keys that are not later than their query hides padded keys from real queries.
    """
    tensors = [each for each in operands if isinstance(each, torch.Tensor)]
    if operation.name not in _COMPARISONS or len(tensors) != 2:
        return rows
    held = _COMPARISONS[operation.name]
    axes = list(rows.axes)
    for own, other, later in zip(tensors, reversed(tensors), held, strict=True):
        places = enumerate(_aligned(operation, own, rows))
        for dim, axis in ((dim, axis) for dim, axis in places if axis is not None and axis.first is not None):
            against = [
                a for d, a in enumerate(_aligned(operation, other, rows)) if d != dim and a is not None
            ]
            mine = axes[dim]
            if mine is not None and len(against) == 1 and _counts_beyond(axis, against[0]):
                axes[dim] = mine.with_pads(mine.pads, exactly(later))
    return Rows(tuple(axes), rows.whole)


def _counts_beyond(axis: Axis, other: Axis) -> bool:
    if axis.first is None or other.first is None or not (axis.is_plain and other.is_plain):
        return False
    more = axis.rows + axis.first - other.rows - other.first
    return bool(more.is_number and more >= 0)


def _moved(operation: Operation, operands: list[Any], rows: Rows) -> Rows:
    """Places and a fixed number more or less are places too."""
    if operation.name not in ("add", "sub") or operation["alpha"] != 1 or operation.out.dtype not in COUNTING:
        return rows
    number = operands[1]
    if not isinstance(number, int):
        return rows
    more = number if operation.name == "add" else -number
    given = operation.rows(operands[0]).axes
    return Rows(tuple(_shifted(*each, more) for each in zip(rows.axes, given, strict=True)), rows.whole)


def _shifted(axis: Axis | None, given: Axis | None, more: int) -> Axis | None:
    first = None if given is None else given.first
    return axis if axis is None or first is None else replace(axis, first=first + more)


def _aligned(operation: Operation, tensor: torch.Tensor, rows: Rows) -> tuple[Axis | None, ...]:
    missing: int = len(rows.axes) - tensor.dim()
    return (None,) * missing + operation.rows(tensor).axes


def _axis(operation: Operation, operands: list[Any], out: torch.Tensor, dim: int) -> Axis | None:
    from_end = out.dim() - dim
    found: Axis | None = None
    given: list[Axis | Values] = []
    for each in operands:
        axis = None
        if isinstance(each, torch.Tensor) and each.dim() >= from_end:
            axis = operation.rows(each).axes[each.dim() - from_end]
        given.append(_whole(operation, each) if axis is None else axis)
        if axis is not None and found is not None and not found.aligns_with(axis):
            raise operation.refuse("puts rows beside others that they do not belong to")
        found = found if axis is None else axis
    if found is None:
        return None
    position = out.dim() - from_end
    for each in operands:
        if isinstance(each, torch.Tensor) and each.dim() >= from_end:
            own = each.dim() - from_end
            if operation.rows(each).axes[own] is None and sizes(each)[own] not in (1, sizes(out)[position]):
                raise operation.refuse("puts rows beside others that they do not belong to")
            if operation.rows(each).axes[own] is None and sizes(each)[own] != 1:
                raise operation.refuse("puts padded rows beside ones that are not padded")
    made = _made(operation, found, given, out)
    if not found.has_tail:
        return made
    kept = [each.without_tail if isinstance(each, Axis) else each for each in given]
    return replace(made, kept=_made(operation, found.without_tail, kept, out))


def _made(operation: Operation, axis: Axis, given: list[Axis | Values], out: torch.Tensor) -> Axis:
    """``axis`` of the result, of operands that have it too or are the same all along it."""
    name = _name(operation)
    pads = of_operation(name, [each.pads if isinstance(each, Axis) else each for each in given])
    seen = of_operation(name, [each.seen if isinstance(each, Axis) else each for each in given])
    return axis.with_pads(_typed(pads, out), _typed(seen, out))


def _name(operation: Operation) -> str:
    """Operands that are None are left out, which makes another operation of a clamp without a minimum."""
    is_clamp_max = operation.name == "clamp" and operation.get("min") is None
    if operation.name == "bitwise_not" and operation.out.dtype != torch.bool:
        return "bitwise_not of a number"
    return "clamp_max" if is_clamp_max else operation.name


def _whole(operation: Operation, value: Any) -> Values:
    if isinstance(value, torch.Tensor):
        return operation.rows(value).whole
    known = operation.values_of(value)
    computed_in = [each.dtype for each in operation.tensors if each.dtype.is_floating_point]
    return cast(known, computed_in[0]) if len(set(computed_in)) == 1 else known


def _typed(values: Values, out: torch.Tensor) -> Values:
    if out.dtype != torch.bool:
        return cast(values, out.dtype)
    return truth(values) if values != ANYTHING else TRUTH


def same(operation: Operation) -> Rows:
    """The same tensor in another dtype, device or memory format."""
    source = operation.tensors[0]
    rows = operation.rows(source)
    if operation.out.dtype == source.dtype:
        return rows
    dtype = operation.out.dtype
    axes = tuple(axis and _cast_axis(axis, dtype) for axis in rows.axes)
    return Rows(axes, cast(rows.whole, dtype))


def _cast_axis(axis: Axis, dtype: torch.dtype) -> Axis:
    facing = None if axis.facing is None else cast(axis.facing, dtype)
    kept = None if axis.kept is None else _cast_axis(axis.kept, dtype)
    first = axis.first if dtype in COUNTING else None
    return replace(axis, pads=cast(axis.pads, dtype), facing=facing, first=first, kept=kept)


def cast(values: Values, dtype: torch.dtype) -> Values:
    """As a tensor of ``dtype`` holds them."""
    if dtype == torch.bool:
        return truth(values)
    if values.only is None or dtype.is_complex or not (dtype.is_floating_point or values.finite):
        return values
    return exactly(torch.tensor(values.only, dtype=torch.float64).to(dtype).item())


def log_sigmoid(operation: Operation) -> list[Rows]:
    """And what its backward reads, which on a GPU is empty."""
    rows = operation.rows(operation.tensors[0])
    axes = tuple(axis and axis.with_pads(_or_unknown(axis.pads)) for axis in rows.axes)
    made = Rows(axes, _or_unknown(rows.whole))
    kept = operation.result[1]
    return [made, made if kept.dim() == len(made.axes) else Rows((None,) * kept.dim(), ANYTHING)]


def bins(operation: Operation) -> Rows:
    """In which of fixed boundaries each entry lies."""
    if operation.rows(operation["boundaries"]).has_axis:
        raise operation.refuse("looks entries up among padded boundaries")
    rows = operation.rows(operation.tensors[0])
    return Rows(tuple(axis and axis.with_pads(FINITE) for axis in rows.axes), FINITE)


def _or_unknown(values: Values) -> Values:
    return FINITE if values.finite else ANYTHING


def triangle(operation: Operation) -> Rows:
    """Which entries stay depends on their place alone, and that is the same in a padded tensor."""
    rows = operation.rows(operation.tensors[0])
    if operation.carries(operation["diagonal"]):
        raise operation.refuse("computes with the padded size as a number")
    zero = exactly(0)
    axes = [axis and axis.with_pads(axis.pads.join(zero)) for axis in rows.axes]
    down, across = rows.axes[-2:]
    if down is not None and across is not None and down.is_plain and across.is_plain:
        wider, diagonal = across.rows - down.rows, operation["diagonal"]
        is_lower = operation.name == "tril"
        if wider.is_number and (wider >= diagonal if is_lower else wider + 1 >= diagonal):
            axes[-1] = across.with_pads(across.pads.join(zero), zero if is_lower else across.seen)
        if wider.is_number and (wider - 1 <= diagonal if is_lower else wider - 1 < diagonal):
            axes[-2] = down.with_pads(down.pads.join(zero), down.seen if is_lower else zero)
    return Rows(tuple(axes), rows.whole.join(zero))


def noise(operation: Operation) -> list[Rows]:
    """Dropout: each entry is scaled or becomes 0, and a mask tells which; the tracker has noted the draw."""
    rows = operation.rows(operation.tensors[0])
    scaled = tuple(axis and axis.with_pads(_scaled(axis.pads), _scaled(axis.seen)) for axis in rows.axes)
    told = tuple(axis and axis.with_pads(TRUTH) for axis in rows.axes)
    return [Rows(scaled, _scaled(rows.whole)), Rows(told, TRUTH)]


def drawn(operation: Operation) -> Rows:
    """Each entry is replaced by a random number."""
    rows = operation.rows(operation.tensors[0])
    return Rows(tuple(axis and axis.with_pads(FINITE) for axis in rows.axes), FINITE)


def _scaled(values: Values) -> Values:
    return values if values.only == 0 else Values(finite=values.finite)


COPIES = ("clone", "alias", "detach", "lift_fresh", "_to_copy", "to", "view_of")

SLOPE_OF_ONE = (
    *COPIES,
    *("copy", "fill", "zero", "masked_fill", "where", "tril", "triu", "add", "sub"),
    *(
        "rsub",
        "neg",
        "abs",
        "sign",
        "relu",
        "clamp",
        "clamp_max",
        "clamp_min",
        "maximum",
        "minimum",
        "nan_to_num",
    ),
)
"""Or of nothing, or of minus one."""

BEARS_TAILS = (*COPIES, "copy", "fill", "zero", "masked_fill", "where", "threshold", "native_dropout")
"""Beside what torch itself calls pointwise."""

NOT_TAGGED = ("floor_divide", "hardswish", "_prelu_kernel")
"""Pointwise, though torch does not say so."""

RULES: dict[str, Any] = {
    **dict.fromkeys(COPIES, same),
    **dict.fromkeys(("copy", "fill", "zero", "masked_fill", "where", "threshold"), pointwise),
    **dict.fromkeys(NOT_TAGGED, pointwise),
    "log_sigmoid_forward": log_sigmoid,
    "bucketize": bins,
    **dict.fromkeys(("tril", "triu"), triangle),
    "native_dropout": noise,
    **dict.fromkeys(("bernoulli", "uniform", "normal", "exponential"), drawn),
}
