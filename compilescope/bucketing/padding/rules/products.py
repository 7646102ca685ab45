"""Matrix products, convolutions and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from compilescope.bucketing.padding.operation import Operation, sizes, tensors_in
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.values import INF, LOWEST, Values, exactly, of_operation


def lowest(tensor: torch.Tensor | None) -> float:
    """What masks an entry: the lowest number of its type, or less. A mask of bfloat16 serves wider types."""
    if tensor is None or not tensor.dtype.is_floating_point:
        return -INF
    return max(LOWEST, float(torch.finfo(tensor.dtype).min))


def mm(operation: Operation) -> Rows:
    return _product(operation, operation["self"], operation["mat2"], None)


def addmm(operation: Operation) -> Rows:
    return _product(operation, operation["mat1"], operation["mat2"], operation["self"])


def bmm(operation: Operation) -> Rows:
    return _product(operation, operation["self"], operation["mat2"], None)


def baddbmm(operation: Operation) -> Rows:
    return _product(operation, operation["batch1"], operation["batch2"], operation["self"])


def mv(operation: Operation) -> Rows:
    rows = operation.rows(operation["self"])
    _contract(operation, rows.axes[-1], operation.rows(operation["vec"]).axes[-1])
    return _result(rows.axes[:-1], rows, operation.rows(operation["vec"]))


def dot(operation: Operation) -> Rows:
    first, second = operation.rows(operation["self"]), operation.rows(operation["tensor"])
    _contract(operation, first.axes[0], second.axes[0])
    return _result((), first, second)


def linear(operation: Operation) -> Rows:
    rows, weight = operation.rows(operation["input"]), operation.rows(operation["weight"])
    if weight.has_axis:
        raise operation.refuse("has padded rows for weights")
    _contract(operation, rows.axes[-1], None)
    found = _result((*rows.axes[:-1], None), rows, weight)
    bias = operation.get("bias")
    return found if bias is None else _plus_bias(operation, operation.rows(bias), found)


def convolution(operation: Operation) -> Rows:
    """Over samples; and along rows, where a kernel moves by one and meets only zeros behind the real ones."""
    source, out = operation["input"], operation.out
    rows = operation.rows(source)
    if operation.rows(operation["weight"]).has_axis or rows.axes[1] is not None:
        raise operation.refuse("has padded rows for channels or weights")
    finite = Values(finite=rows.whole.finite)
    axes = [axis and axis.with_pads(finite) for axis in rows.axes]
    for dim in range(2, source.dim()):
        axis = rows.axes[dim]
        if axis is None:
            continue
        stride, padding = (_of_dim(operation[name], dim - 2) for name in ("stride", "padding"))
        reaches = padding != 0 and axis.pads.only != 0
        if operation["transposed"] or stride != 1 or reaches or not axis.is_plain:
            raise operation.refuse("over padded rows reaches from the last real row into them")
        axes[dim] = Axis(sizes(out)[dim], finite)
    return Rows(tuple(axes), finite)


def _of_dim(given: Sequence[int], dim: int) -> int:
    """One number stands for all dimensions."""
    return int(given[dim] if len(given) > 1 else given[0])


def attention(operation: Operation) -> Rows:
    """A padded key must be hidden from every real query: by the mask, or because it comes later."""
    query, key, value = (operation.rows(operation[name]) for name in ("query", "key", "value"))
    for rows in (query, key, value):
        if rows.axes[-1] is not None:
            raise operation.refuse("has padded rows for features")
    _check_leading(operation, query, key, value)
    if any(operation.carries(operation.get(name)) for name in ("scale", "dropout_p")):
        raise operation.refuse("computes with the padded size as a number")
    mask = operation.attention_mask
    if mask is not None:
        _check_mask(operation, operation.rows(mask), query)
    if key.axes[-2] is not None or value.axes[-2] is not None:
        _check_hidden(operation, query, key, value)
    if operation.get("dropout_p", 0.0):
        operation.note_random()
    finite = Values(finite=all(rows.whole.finite for rows in (query, key, value)))
    return Rows((*(axis and axis.with_pads(finite) for axis in query.axes[:-1]), None), finite)


def fused_attention(operation: Operation) -> list[Rows]:
    """What attention becomes on a device, seen where it is called from within another function of torch."""
    found = attention(operation)
    _, *beside = tensors_in(operation.result)
    return [found, *(Rows(_carried(operation, each, found)) for each in beside)]


def _carried(operation: Operation, tensor: torch.Tensor, found: Rows) -> tuple[Axis | None, ...]:
    """Sums of each query, whose dimensions are the first of the result's."""
    own = found.axes[: tensor.dim()] + (None,) * (tensor.dim() - len(found.axes))
    sizes_and_axes = zip(tensor.shape, own, strict=True)
    return tuple(axis if operation.carries(size) else None for size, axis in sizes_and_axes)


def _check_hidden(operation: Operation, query: Rows, key: Rows, value: Rows) -> None:
    keys, values = key.axes[-2], value.axes[-2]
    if keys is None or values is None or not keys.aligns_with(values) or keys.is_folded:
        raise operation.refuse("has keys and values whose padded rows do not belong together")
    if not (keys.pads.finite and values.pads.finite):
        raise operation.refuse("over padded keys that may be infinite: zero times infinity is nan")
    if operation.get("is_causal", False):
        queries = query.axes[-2]
        if queries is None or not queries.aligns_with(keys):
            raise operation.refuse("is causal over queries and keys that do not belong together")
        return
    mask = operation.attention_mask
    hides = operation.rows(mask).axes[-1] if mask is not None else None
    hidden = 0.0 if mask is not None and mask.dtype == torch.bool else lowest(mask)
    if hides is None or not hides.aligns_with(keys) or not hides.seen.is_at_most(hidden):
        raise operation.refuse("over padded keys needs a mask that hides them, or is_causal=True")


def _check_mask(operation: Operation, mask: Rows, query: Rows) -> None:
    for offset in range(2, len(mask.axes) + 1):
        own = mask.axes[-offset]
        other = query.axes[-offset] if offset <= len(query.axes) else None
        if own is not None and (other is None or not own.aligns_with(other)):
            raise operation.refuse("has a mask whose padded rows are not those of the queries")


def _check_leading(operation: Operation, *tensors: Rows) -> None:
    width = max(len(rows.axes) for rows in tensors)
    for offset in range(3, width + 1):
        here = [rows.axes[-offset] for rows in tensors if offset <= len(rows.axes)]
        for axis in here[1:]:
            first = here[0]
            if (axis is None) != (first is None) or (axis and first and not axis.aligns_with(first)):
                raise operation.refuse("pairs padded rows with others that they do not belong to")


def _product(operation: Operation, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> Rows:
    first, second = operation.rows(a), operation.rows(b)
    _contract(operation, first.axes[-1], second.axes[-2])
    leading: tuple[Axis | None, ...] = ()
    if len(first.axes) == 3:
        batches = first.axes[0], second.axes[0]
        if (batches[0] is None) != (batches[1] is None) or (
            batches[0] and batches[1] and not batches[0].aligns_with(batches[1])
        ):
            raise operation.refuse("pairs padded rows with others that they do not belong to")
        leading = (batches[0],)
    found = _result((*leading, first.axes[-2], second.axes[-1]), first, second)
    return found if bias is None else _plus_bias(operation, operation.rows(bias), found)


def _plus_bias(operation: Operation, bias: Rows, product: Rows) -> Rows:
    """A bias may be a mask of the scores."""
    axes = list(product.axes)
    for offset in range(1, len(axes) + 1):
        axis, own = axes[-offset], bias.axes[-offset] if offset <= len(bias.axes) else None
        if own is not None and (axis is None or not own.aligns_with(axis)):
            raise operation.refuse("adds padded rows to others that they do not belong to")
        if axis is not None:
            pads, seen = (bias.whole, bias.whole) if own is None else (own.pads, own.seen)
            axes[-offset] = axis.with_pads(
                _plus(operation, axis.pads, pads), _plus(operation, axis.seen, seen)
            )
    return Rows(tuple(axes), _plus(operation, product.whole, bias.whole))


def _plus(operation: Operation, product: Values, bias: Values) -> Values:
    if operation.get("beta", 1) == 1:
        return of_operation("add", [product, bias])
    return Values(finite=product.finite and bias.finite)


def _contract(operation: Operation, first: Axis | None, second: Axis | None) -> None:
    if first is None and second is None:
        return
    if first is None or second is None or not first.aligns_with(second):
        raise operation.refuse("sums over padded rows and others that do not belong together")
    if not any(one.seen.only == 0 and other.seen.finite for one, other in ((first, second), (second, first))):
        raise operation.refuse("sums over padded rows: it needs a mask that makes one side 0")


def _result(axes: tuple[Axis | None, ...], first: Rows, second: Rows) -> Rows:
    """Rows of zeros stay zeros."""
    values = Values(finite=first.whole.finite and second.whole.finite)

    def pads(axis: Axis) -> Values:
        other = second if axis in first.axes else first
        if axis in first.axes and axis in second.axes:
            return values
        finite = axis.pads.finite and other.whole.finite
        return exactly(0) if finite and axis.pads.only == 0 else Values(finite=finite)

    return Rows(tuple(axis and axis.with_pads(pads(axis)) for axis in axes), values)


_FUSED = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)

BEARS_TAILS = ("mm", "addmm", "bmm", "baddbmm", "mv", "dot", "linear", *_FUSED)

RULES: dict[str, Any] = {
    "mm": mm,
    "addmm": addmm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "mv": mv,
    "dot": dot,
    "linear": linear,
    "convolution": convolution,
    **dict.fromkeys(_FUSED, fused_attention),
}
