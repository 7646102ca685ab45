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

_COMPARISONS = {"le": 1, "lt": 1, "ge": -1, "gt": -1}
"""Which way round the earlier place comes before the later one."""

_NOT_OPERANDS = ("rounding_mode", "approximate", "non_blocking", "memory_format", "dtype", "layout")


def pointwise(operation: Operation) -> list[Rows]:
    out = operation.result if isinstance(operation.result, torch.Tensor) else None
    if out is None:
        raise operation.refuse("has several results and no rule")
    operands = [
        value
        for name, value in operation.arguments.items()
        if value is not None and name not in _NOT_OPERANDS
    ]
    if operation.name in ("add", "sub") and operation.values_of(operands[1]).only == 0:
        return [operation.rows(operands[0])]
    return [_hiding(operation, operands, _combined(operation, operands, out))]


def _combined(operation: Operation, operands: list[Any], out: torch.Tensor) -> Rows:
    axes = tuple(_axis(operation, operands, out, dim) for dim in range(out.dim()))
    whole = of_operation(_name(operation), [_whole(operation, each) for each in operands])
    return Rows(axes, _typed(whole, out))


def _hiding(operation: Operation, operands: list[Any], rows: Rows) -> Rows:
    """A causal mask by places: a key behind the real rows is later than every real query."""
    tensors = [each for each in operands if isinstance(each, torch.Tensor)]
    if operation.name in _COMPARISONS and len(tensors) == 2:
        earlier, later = (
            _aligned(operation, each, rows) for each in tensors[:: _COMPARISONS[operation.name]]
        )
        counted = {dim for dim, axis in enumerate(later) if axis is not None and axis.counts}
        hidden = {d for d, axis in enumerate(earlier) if axis and axis.counts and counted - {d}}
    elif operation.name in ("bitwise_and", "logical_and"):
        aligned = [_aligned(operation, each, rows) for each in tensors]
        hidden = {dim for axes in aligned for dim, axis in enumerate(axes) if axis and axis.hidden}
    else:
        return rows
    axes = [axis and replace(axis, hidden=dim in hidden) for dim, axis in enumerate(rows.axes)]
    return Rows(tuple(axes), rows.whole)


def _aligned(operation: Operation, tensor: torch.Tensor, rows: Rows) -> tuple[Axis | None, ...]:
    missing: int = len(rows.axes) - tensor.dim()
    return (None,) * missing + operation.rows(tensor).axes


def _axis(operation: Operation, operands: list[Any], out: torch.Tensor, dim: int) -> Axis | None:
    from_end = out.dim() - dim
    found: Axis | None = None
    pads: list[Values] = []
    for each in operands:
        if not isinstance(each, torch.Tensor) or each.dim() < from_end:
            pads.append(_whole(operation, each))
            continue
        rows = operation.rows(each)
        axis = rows.axes[each.dim() - from_end]
        if axis is None:
            pads.append(rows.whole)
            continue
        if found is not None and not found.aligns_with(axis):
            raise operation.refuse("puts rows beside others that they do not belong to")
        found = axis
        pads.append(axis.pads)
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
    return found.with_pads(_typed(of_operation(_name(operation), pads), out))


def _name(operation: Operation) -> str:
    """Operands that are None are left out, which makes another operation of a clamp without a minimum."""
    is_clamp_max = operation.name == "clamp" and operation.get("min") is None
    return "clamp_max" if is_clamp_max else operation.name


def _whole(operation: Operation, value: Any) -> Values:
    if isinstance(value, torch.Tensor):
        return operation.rows(value).whole
    return operation.values_of(value)


def _typed(values: Values, out: torch.Tensor) -> Values:
    if out.dtype != torch.bool:
        return values
    return truth(values) if values != ANYTHING else TRUTH


def same(operation: Operation) -> Rows:
    """The same tensor in another dtype, device or memory format."""
    source = operation.tensors[0]
    rows = operation.rows(source)
    if operation.out.dtype == source.dtype:
        return rows
    axes = tuple(axis and replace(axis, pads=_cast(axis.pads, operation.out.dtype)) for axis in rows.axes)
    return Rows(axes, _cast(rows.whole, operation.out.dtype))


def _cast(values: Values, dtype: torch.dtype) -> Values:
    if dtype == torch.bool:
        return truth(values)
    if values.only is None or not (dtype.is_floating_point or values.finite):
        return values
    return exactly(torch.tensor(values.only, dtype=torch.float64).to(dtype).item())


def triangle(operation: Operation) -> Rows:
    """Which entries stay depends on their place alone, and that is the same in a padded tensor."""
    rows = operation.rows(operation.tensors[0])
    zero = Values(0, 0, True)
    axes = tuple(axis and axis.with_pads(axis.pads.join(zero)) for axis in rows.axes)
    return Rows(axes, rows.whole.join(zero))


def noise(operation: Operation) -> list[Rows]:
    """Dropout and its like: each entry is kept, scaled or replaced; the tracker has noted the draw."""
    rows = operation.rows(operation.tensors[0])
    found = Rows(
        tuple(axis and axis.with_pads(_finite(axis.pads)) for axis in rows.axes), _finite(rows.whole)
    )
    outputs = operation.result if isinstance(operation.result, tuple) else (operation.result,)
    return [found for _ in outputs]


def drawn(operation: Operation) -> Rows:
    """Each entry is replaced by a random number."""
    rows = operation.rows(operation.tensors[0])
    return Rows(tuple(axis and axis.with_pads(FINITE) for axis in rows.axes), FINITE)


def _finite(values: Values) -> Values:
    return Values(finite=values.finite)


RULES: dict[str, Any] = {
    **dict.fromkeys(("clone", "alias", "detach", "lift_fresh", "_to_copy", "to", "view_of"), same),
    **dict.fromkeys(("copy", "fill", "zero", "masked_fill", "where", "threshold"), pointwise),
    **dict.fromkeys(("tril", "triu"), triangle),
    "native_dropout": noise,
    **dict.fromkeys(("bernoulli", "uniform", "normal", "exponential"), drawn),
}
