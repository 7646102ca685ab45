"""Operations that rearrange entries."""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from compilescope.bucketing._torch import expression
from compilescope.bucketing.padding.amounts import is_never_negative
from compilescope.bucketing.padding.operation import Operation, sizes, tensors_in
from compilescope.bucketing.padding.rows import Axis, CannotRegroupError, Rows, regroup
from compilescope.bucketing.padding.rules.pointwise import cast
from compilescope.bucketing.padding.values import ANYTHING, Values, exactly

_WITHOUT_END = 2**62

_BEYOND = "takes a part of padded rows that may reach into what they are filled up with"


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
    if axis.is_folded or operation["step"] != 1:
        raise operation.refuse("takes a part of padded rows that is no prefix of them")
    if axis.has_tail:
        return _with_axis(
            operation, rows, dim, _cut_back(operation, axis, expression(start), after, rows.whole)
        )
    end = _WITHOUT_END if operation["end"] is None else operation["end"]
    if not operation.carries(out.shape[dim]):
        if operation.carries(end) or not _is_from_front(end):
            raise operation.refuse("counts from the end of padded rows")
        return _with_axis(operation, rows, dim, None)
    return _with_axis(operation, rows, dim, _part(axis, expression(start), after, rows.whole))


def _part(axis: Axis, start: Any, length: Any, whole: Values) -> Axis:
    """Cut at the end, the padded rows are followed by one less of them, and begin with a real one."""
    is_whole_end = sympy.expand(axis.rows - start - length) == 0
    return Axis(length, axis.pads if is_whole_end else whole)


def _cut_back(operation: Operation, axis: Axis, start: Any, length: Any, whole: Values) -> Axis:
    """Rows that something was put behind, without it or with less of it. A part that could reach beyond the
    real rows of a call is another one when it is padded.
    """
    left = sympy.expand(start + length - axis.rows)
    if not operation.carries(operation.out.shape[operation.dim(operation.tensors[0])]):
        raise operation.refuse(_BEYOND)
    if start == 0 and is_never_negative(left):
        return axis.cut_to(left)
    if not is_never_negative(-left):
        raise operation.refuse(_BEYOND)
    return _part(axis.without_tail, start, length, whole)


def select(operation: Operation) -> Rows:
    source = operation.tensors[0]
    dim = operation.dim(source)
    rows = operation.rows(source)
    axis, index = rows.axes[dim], operation["index"]
    if operation.carries(index) or (axis is not None and not _is_from_front(index)):
        raise operation.refuse("takes the last of padded rows")
    if axis is not None and not axis.is_plain:
        raise operation.refuse(
            "takes one entry of padded rows that are folded into another dimension or filled up"
        )
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
    if operation.carries(operation["value"]):
        raise operation.refuse("computes with the padded size as a number")
    filling = cast(exactly(operation["value"] or 0), source.dtype)
    sides = list(zip(operation["pad"][::2], operation["pad"][1::2], strict=True))
    by_dim = {source.dim() - 1 - place: amounts for place, amounts in enumerate(sides)}
    grown = {dim for dim, amounts in by_dim.items() if any(expression(amount) != 0 for amount in amounts)}
    axes = [axis and _beside_filling(axis, filling, grown - {dim}) for dim, axis in enumerate(rows.axes)]
    for dim in grown:
        axis, (before, after) = axes[dim], by_dim[dim]
        if operation.carries(before) or (axis is None and operation.carries(after)):
            raise operation.refuse("pads by the padded size")
        if axis is not None:
            moved = _padded_before(operation, axis, expression(before))
            axes[dim] = _padded_behind(operation, moved, expression(after), filling, rows.whole)
    return Rows(tuple(axes), rows.whole.join(filling))


def _padded_before(operation: Operation, axis: Axis, before: Any) -> Axis:
    if before == 0:
        return axis
    if not axis.is_plain:
        raise operation.refuse("pads in front of rows that are folded into others or filled up")
    return Axis(sympy.expand(axis.rows + before), axis.pads)


def _padded_behind(operation: Operation, axis: Axis, after: Any, filling: Values, whole: Values) -> Axis:
    if after == 0:
        return axis
    if axis.is_folded:
        raise operation.refuse("pads behind rows that are folded into others")
    left = sympy.expand(axis.tail + after)
    if axis.is_plain and after.is_number and (after < 0 or axis.pads == filling):
        # Fewer rows, or more that are no other than padded ones.
        return Axis(sympy.expand(axis.rows + after), axis.pads if after > 0 else whole.join(filling))
    if is_never_negative(after):
        return axis.filled_up(after, filling)
    if is_never_negative(-after) and is_never_negative(left):
        return axis.cut_to(left)
    raise operation.refuse("pads by an amount that may be negative at some size")


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
    """Rows may follow something of fixed size; behind them there are constants, or nothing."""
    of_rows = [place for place, axis in enumerate(axes) if axis is not None and axis.rows != 0]
    place = of_rows[0] if of_rows else len(axes) - 1
    axis = axes[place]
    if axis is None or len(axes) == 1:
        return axis
    behind = list(zip(tensors[place + 1 :], axes[place + 1 :], strict=True))
    fillings = [operation.rows(tensor).whole if own is None else own.pads for tensor, own in behind]
    if len(of_rows) > 1 or any(axes[:place]) or any(filling.only is None for filling in fillings):
        raise operation.refuse("puts something behind padded rows")
    in_front = sum(sizes(each)[dim] for each in tensors[:place])
    if in_front != 0:
        if not axis.is_plain:
            raise operation.refuse("puts padded rows that are folded into a dimension behind others")
        axis = Axis(sympy.expand(axis.rows + in_front), axis.pads)
    if behind and axis.is_folded:
        raise operation.refuse("puts something behind padded rows")
    for (tensor, _), filling in zip(behind, fillings, strict=True):
        axis = axis.filled_up(sizes(tensor)[dim], filling)
    return axis


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
