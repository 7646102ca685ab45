"""Operations that rearrange entries."""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from compilescope.bucketing._torch import expression
from compilescope.bucketing.padding.operation import Operation, sizes, tensors_in
from compilescope.bucketing.padding.rows import Axis, CannotRegroupError, Rows, regroup
from compilescope.bucketing.padding.values import ANYTHING, Values, exactly

_WITHOUT_END = 2**62


def view(operation: Operation) -> Rows:
    source = operation.tensors[0]
    rows = operation.rows(source)
    if not rows.has_axis:
        known = rows.whole if operation.out.dtype == source.dtype else ANYTHING
        return Rows((None,) * operation.out.dim(), known)
    try:
        axes = regroup(rows.axes, sizes(source), sizes(operation.out))
    except CannotRegroupError:
        raise operation.refuse("gives padded rows a shape that cuts through them") from None
    if operation.out.dtype != source.dtype:
        return Rows(tuple(axis and axis.with_pads(ANYTHING) for axis in axes))
    return Rows(axes, rows.whole)


def permute(operation: Operation) -> Rows:
    source = operation.tensors[0]
    rows = operation.rows(source)
    order = [int(dim) % source.dim() for dim in operation["dims"]]
    return Rows(tuple(rows.axes[dim] for dim in order), rows.whole)


def transpose(operation: Operation) -> Rows:
    source = operation.tensors[0]
    rows = operation.rows(source)
    axes = list(rows.axes)
    if source.dim() > 1:
        first, second = (
            operation.dim(source, int(operation.get(n, d))) for n, d in (("dim0", 0), ("dim1", 1))
        )
        axes[first], axes[second] = axes[second], axes[first]
    return Rows(tuple(axes), rows.whole)


def expand(operation: Operation) -> Rows:
    source, out = operation.tensors[0], operation.out
    rows = operation.rows(source)
    axes = (None,) * (out.dim() - source.dim()) + rows.axes
    grown = tuple(
        Axis(size, rows.whole) if axis is None and operation.carries(out.shape[dim]) else axis
        for dim, (axis, size) in enumerate(zip(axes, sizes(out), strict=True))
    )
    return Rows(_plain_sizes(operation, grown), rows.whole)


def slice_(operation: Operation) -> Rows:
    source, out = operation.tensors[0], operation.out
    dim = operation.dim(source)
    rows = operation.rows(source)
    before, after = sizes(source)[dim], sizes(out)[dim]
    if before == after and operation["start"] in (None, 0):
        return rows
    start = 0 if operation["start"] is None else operation["start"]
    axis = rows.axes[dim]
    if operation.carries(start) or (axis is not None and not _is_from_front(start)):
        raise operation.refuse("counts from the end of padded rows")
    if axis is None:
        grown = Axis(after, rows.whole) if operation.carries(out.shape[dim]) else None
        return _with_axis(operation, rows, dim, grown)
    if not axis.is_plain or operation["step"] != 1:
        raise operation.refuse("takes a part of padded rows that is no prefix of them")
    end = _WITHOUT_END if operation["end"] is None else operation["end"]
    if not operation.carries(out.shape[dim]):
        if operation.carries(end) or not _is_from_front(end):
            raise operation.refuse("counts from the end of padded rows")
        return _with_axis(operation, rows, dim, None)
    # Cut at the end, the padded rows are followed by one less of them, and begin with a real one.
    is_whole_end = sympy.expand(before - expression(start) - after) == 0
    return _with_axis(operation, rows, dim, Axis(after, axis.pads if is_whole_end else rows.whole))


def select(operation: Operation) -> Rows:
    source = operation.tensors[0]
    dim = operation.dim(source)
    rows = operation.rows(source)
    axis, index = rows.axes[dim], operation["index"]
    if operation.carries(index) or (axis is not None and not _is_from_front(index)):
        raise operation.refuse("takes the last of padded rows")
    if axis is not None and not axis.is_plain:
        raise operation.refuse("takes one entry of padded rows that are folded into another dimension")
    return Rows(rows.axes[:dim] + rows.axes[dim + 1 :], rows.whole)


def concatenate(operation: Operation) -> Rows:
    tensors, out = tensors_in(operation["tensors"]), operation.out
    tensors = [each for each in tensors if each.dim() == out.dim()]
    dim = operation.dim(out)
    rows = [operation.rows(each) for each in tensors]
    whole = _joined([each.whole for each in rows])
    axes = []
    for position in range(out.dim()):
        here = [each.axes[position] for each in rows]
        joined = _appended(operation, here, tensors, dim) if position == dim else _beside(operation, here)
        axes.append(joined)
    return Rows(tuple(axes), whole)


def stack(operation: Operation) -> Rows:
    tensors, out = tensors_in(operation["tensors"]), operation.out
    dim = operation.dim(out)
    rows = [operation.rows(each) for each in tensors]
    axes = [_beside(operation, list(here)) for here in zip(*(each.axes for each in rows), strict=True)]
    axes.insert(dim, None)
    return Rows(tuple(axes), _joined([each.whole for each in rows]))


def split(operation: Operation) -> list[Rows]:
    source = operation.tensors[0]
    dim = operation.dim(source)
    rows = operation.rows(source)
    if rows.axes[dim] is not None:
        raise operation.refuse("cuts padded rows into pieces")
    return [rows] * len(tensors_in(operation.result))


def unbind(operation: Operation) -> list[Rows]:
    rows = split(operation)
    dim = operation.dim(operation.tensors[0])
    return [Rows(each.axes[:dim] + each.axes[dim + 1 :], each.whole) for each in rows]


def constant_pad(operation: Operation) -> Rows:
    source = operation.tensors[0]
    rows = operation.rows(source)
    filling = exactly(operation["value"] if operation["value"] is not None else 0)
    amounts = list(operation["pad"])
    if any(operation.carries(amount) for amount in amounts):
        raise operation.refuse("pads by the padded size")
    grown = {source.dim() - 1 - place // 2 for place, amount in enumerate(amounts) if amount != 0}
    axes = [axis and _beside_filling(axis, filling, grown - {dim}) for dim, axis in enumerate(rows.axes)]
    for position, dim in enumerate(reversed(range(source.dim()))):
        if 2 * position >= len(amounts):
            break
        axis, after = axes[dim], amounts[2 * position + 1]
        if dim not in grown:
            continue
        if axis is None:
            continue
        if not axis.is_plain or (after != 0 and axis.pads != filling):
            raise operation.refuse("pads behind rows that are padded with another value")
        axes[dim] = Axis(sizes(operation.out)[dim], axis.pads if after >= 0 else rows.whole)
    return Rows(tuple(axes), rows.whole.join(filling))


def _beside_filling(axis: Axis, filling: Values, others: set[int]) -> Axis:
    """Entries that are added along another dimension lie behind the real rows of this one too."""
    return axis.with_pads(axis.pads.join(filling), axis.seen.join(filling)) if others else axis


def repeat(operation: Operation) -> Rows:
    source, out = operation.tensors[0], operation.out
    rows = operation.rows(source)
    axes = (None,) * (out.dim() - source.dim()) + rows.axes
    old = (sympy.Integer(1),) * (out.dim() - source.dim()) + sizes(source)
    if any(axis is not None and was != now for axis, was, now in zip(axes, old, sizes(out), strict=True)):
        raise operation.refuse("repeats padded rows behind each other")
    grown = tuple(
        axis if axis is not None else Axis(now, rows.whole) if operation.carries(size) and was == 1 else None
        for axis, was, now, size in zip(axes, old, sizes(out), out.shape, strict=True)
    )
    return Rows(_plain_sizes(operation, grown), rows.whole)


def _is_from_front(index: Any) -> bool:
    return expression(index).is_nonnegative is True


def _with_axis(operation: Operation, rows: Rows, dim: int, axis: Axis | None) -> Rows:
    axes = _plain_sizes(operation, (*rows.axes[:dim], axis, *rows.axes[dim + 1 :]))
    return Rows(axes, rows.whole)


def _plain_sizes(operation: Operation, axes: tuple[Axis | None, ...]) -> tuple[Axis | None, ...]:
    """Rows are the size itself, or so many more or fewer: of a multiple nothing is known."""
    for axis in axes:
        if axis is not None and not operation.is_plain_size(axis.rows):
            raise operation.refuse(f"makes {axis.rows} rows of padded ones")
    return axes


def _appended(
    operation: Operation, axes: list[Axis | None], tensors: list[torch.Tensor], dim: int
) -> Axis | None:
    """Rows may follow something of fixed size; behind padded rows there is nothing."""
    if any(axis is not None for axis in axes[:-1]):
        raise operation.refuse("puts something behind padded rows")
    last = axes[-1]
    if last is None or len(axes) == 1:
        return last
    if not last.is_plain:
        raise operation.refuse("puts padded rows that are folded into a dimension behind others")
    return Axis(sympy.expand(sum(sizes(each)[dim] for each in tensors)), last.pads)


def _beside(operation: Operation, axes: list[Axis | None]) -> Axis | None:
    first = axes[0]
    for axis in axes[1:]:
        if (axis is None) != (first is None) or (axis and first and not axis.aligns_with(first)):
            raise operation.refuse("puts rows beside others that they do not belong to")
    if first is None:
        return None
    return first.with_pads(_joined([axis.pads for axis in axes if axis is not None]))


def _joined(values: list[Values]) -> Values:
    joined = values[0]
    for each in values[1:]:
        joined = joined.join(each)
    return joined


RULES: dict[str, Any] = {
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "_reshape_alias", "unsqueeze", "squeeze", "flatten", "unflatten"),
        view,
    ),
    "permute": permute,
    **dict.fromkeys(("transpose", "t", "swapaxes"), transpose),
    "expand": expand,
    "slice": slice_,
    "select": select,
    "cat": concatenate,
    "stack": stack,
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split", "chunk"), split),
    "unbind": unbind,
    "constant_pad_nd": constant_pad,
    "repeat": repeat,
}

TAKES_SIZES = frozenset(
    ("view", "_unsafe_view", "reshape", "_reshape_alias", "unflatten", "expand", "slice", "select", "repeat")
) | frozenset(("constant_pad_nd", "split", "split_with_sizes"))
