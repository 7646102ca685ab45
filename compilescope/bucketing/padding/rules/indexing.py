"""Operations that look entries up."""

from __future__ import annotations

from typing import Any

import torch

from compilescope.bucketing.padding.operation import Operation, sizes
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.rules.views import _beside


def embedding(operation: Operation) -> Rows:
    weight, indices = operation["weight"], operation["indices"]
    if operation.rows(weight).has_axis:
        raise operation.refuse("looks padded rows up by their number")
    rows, whole = operation.rows(indices), operation.rows(weight).whole
    _check_index(operation, rows, weight.shape[0])
    return Rows((*(axis and axis.with_pads(whole) for axis in rows.axes), None), whole)


def index(operation: Operation) -> Rows:
    """Advanced indexing of dimensions that are no rows, or of rows by their own places."""
    source = operation["self"]
    rows = operation.rows(source)
    given = list(operation["indices"])
    used = [dim for dim, each in enumerate(given) if each is not None]
    indices = [given[dim] for dim in used]
    own = [_own_place(operation, rows.axes[dim], each) for dim, each in zip(used, indices, strict=True)]
    if any(each.dtype == torch.bool for each in indices):
        raise operation.refuse("keeps as many entries as a mask says")
    for dim, each in zip(used, indices, strict=True):
        _check_index(operation, operation.rows(each), source.shape[dim])
    width = max(each.dim() for each in indices)
    looked_up = [_broadcast(operation, indices, width, place) for place in range(width)]
    looked_up = [axis and axis.with_pads(rows.whole) for axis in looked_up]
    for dim, place in zip(used, own, strict=True):
        axis = rows.axes[dim]
        if place is not None and axis is not None:
            looked_up[width - place] = axis
    first = used[0] if used == list(range(used[0], used[-1] + 1)) else 0
    kept = [axis for dim, axis in enumerate(rows.axes) if dim not in used]
    axes = (*kept[:first], *looked_up, *kept[first:])
    return Rows(tuple(axes), rows.whole)


def _own_place(operation: Operation, axis: Axis | None, chosen: torch.Tensor) -> int | None:
    """Where, counted from the end, an index goes through the rows of ``axis`` in order; None where its rows
    are gone: there were none, or those that are looked up are real.
    """
    if axis is None or _are_real(operation, axis, chosen):
        return None
    axes = operation.rows(chosen).axes
    through = [dim for dim, own in enumerate(axes) if own is not None]
    if len(through) == 1:
        own = axes[through[0]]
        others = [size for dim, size in enumerate(sizes(chosen)) if dim != through[0]]
        if own is not None and own.first == 0 and own.aligns_with(axis) and all(size == 1 for size in others):
            from_end: int = chosen.dim() - through[0]
            return from_end
    raise operation.refuse("looks padded rows up by their number")


def _are_real(operation: Operation, axis: Axis, chosen: torch.Tensor) -> bool:
    """Whether ``chosen`` are numbers of real rows, as where the largest is."""
    among = operation.rows(chosen).among
    return among is not None and axis.is_plain and bool(among == axis.rows)


def index_select(operation: Operation) -> Rows:
    source, chosen = operation["self"], operation["index"]
    dim = operation.dim(source)
    rows = operation.rows(source)
    if rows.axes[dim] is not None:
        raise operation.refuse("looks padded rows up by their number")
    _check_index(operation, operation.rows(chosen), source.shape[dim])
    axes = list(rows.axes)
    axis = operation.rows(chosen).axes[0] if chosen.dim() else None
    axes[dim] = axis and axis.with_pads(rows.whole)
    return Rows(tuple(axes), rows.whole)


def gather(operation: Operation) -> Rows:
    source, chosen = operation["self"], operation["index"]
    dim = operation.dim(source)
    rows, by = operation.rows(source), operation.rows(chosen)
    if source.dim() == 0:
        return rows
    axis = rows.axes[dim]
    if axis is not None and not _are_real(operation, axis, chosen):
        raise operation.refuse("looks padded rows up by their number")
    _check_index(operation, by, source.shape[dim])
    for position, (own, other) in enumerate(zip(rows.axes, by.axes, strict=True)):
        if position != dim and (own is None) != (other is None):
            raise operation.refuse("puts rows beside others that they do not belong to")
        if position != dim:
            _beside(operation, [own, other])
    return Rows(tuple(axis and axis.with_pads(rows.whole) for axis in by.axes), rows.whole)


def _broadcast(operation: Operation, indices: list[torch.Tensor], width: int, place: int) -> Axis | None:
    here = []
    for each in indices:
        own = place - (width - each.dim())
        if own >= 0 and (operation.rows(each).axes[own] is not None or sizes(each)[own] != 1):
            here.append(operation.rows(each).axes[own])
    return _beside(operation, here) if here else None


def _check_index(operation: Operation, rows: Rows, limit: Any) -> None:
    """A padded row is looked up like any other: its number must be there."""
    for axis in rows.axes:
        if axis is not None and axis.first is not None and isinstance(limit, int):
            operation.note_limit(axis.rows + axis.first, limit)
        number = axis.pads.only if axis is not None else None
        if number is not None and isinstance(limit, int) and not -limit <= number < limit:
            raise operation.refuse(f"looks up entry {number:g} of {limit} for padded rows")


RULES: dict[str, Any] = {
    "embedding": embedding,
    **dict.fromkeys(("index", "_unsafe_index"), index),
    "index_select": index_select,
    "gather": gather,
}
