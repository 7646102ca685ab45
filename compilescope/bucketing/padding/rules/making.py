"""Operations that make a tensor from its shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from compilescope.bucketing._torch import expression
from compilescope.bucketing.padding.amounts import is_bounded
from compilescope.bucketing.padding.operation import Operation, sizes
from compilescope.bucketing.padding.rows import ZERO, Axis, Rows
from compilescope.bucketing.padding.rules.pointwise import COUNTING, cast
from compilescope.bucketing.padding.values import ANYTHING, FINITE, TRUTH, Values, exactly


def filled(value: Values) -> Any:
    def rule(operation: Operation) -> Rows:
        return _of_shape(operation, value)

    return rule


def full(operation: Operation) -> Rows:
    value = operation["fill_value"]
    if operation.carries(value):
        raise operation.refuse("computes with the padded size as a number")
    return _of_shape(operation, operation.values_of(value))


def scalar(operation: Operation) -> Rows:
    if operation.carries(operation["s"]):
        raise operation.refuse("computes with the padded size as a number")
    return Rows((), operation.values_of(operation["s"]))


def count(operation: Operation) -> Rows:
    """arange: entry i does not depend on how many there are."""
    if any(operation.carries(operation.get(name)) for name in ("start", "step")):
        raise operation.refuse("computes with the padded size as a number")
    if operation.carries(operation.get("end")) and operation.get("step", 1) != 1:
        raise operation.refuse("takes steps through padded rows")
    start = operation.get("start", 0)
    if not isinstance(start, int) or operation.out.dtype not in COUNTING:
        return _of_shape(operation, FINITE)
    made = _of_shape(operation, Values(start, finite=True))
    return Rows(tuple(axis and replace(axis, first=start) for axis in made.axes), made.whole)


def eye(operation: Operation) -> Rows:
    made = _of_shape(operation, TRUTH)
    down, across = made.axes
    if down is None or across is None:
        return made
    axes = (
        down.with_pads(TRUTH, exactly(0) if down.rows == across.rows else None),
        across.with_pads(TRUTH, exactly(0) if down.rows == across.rows else None),
    )
    return Rows(axes, TRUTH)


def like(value: Values | None) -> Any:
    def rule(operation: Operation) -> Rows:
        source = operation.rows(operation.tensors[0])
        known = operation.values_of(operation["fill_value"]) if value is None else value
        if value is None and operation.carries(operation["fill_value"]):
            raise operation.refuse("computes with the padded size as a number")
        known = cast(known, operation.out.dtype)
        return Rows(tuple(axis and axis.with_pads(known) for axis in source.axes), known)

    return rule


def _of_shape(operation: Operation, values: Values) -> Rows:
    out: torch.Tensor = operation.out
    values = cast(values, out.dtype)
    axes: list[Axis | None] = []
    for size, shown in zip(sizes(out), out.shape, strict=True):
        if not operation.carries(shown):
            axes.append(None)
        elif operation.is_plain_size(size):
            axes.append(Axis(size, values))
        elif values.only is not None and (rows := _filled_up_from(operation, size)) is not None:
            axes.append(Axis(rows, values, tail=sympy.expand(size - rows)))
        else:
            raise operation.refuse(f"makes a tensor of {expression(shown)} rows")
    return Rows(tuple(axes), values)


def _filled_up_from(operation: Operation, size: Any) -> Any:
    """The padded size where ``size`` is that rounded up; 0 where it is by how much; None for another one.

    Of equal entries as many are rows as one likes.
    """
    return next((rows for rows in (operation.padded_size, ZERO) if is_bounded(size - rows)), None)


RULES: dict[str, Any] = {
    **dict.fromkeys(("zeros", "new_zeros"), filled(exactly(0))),
    **dict.fromkeys(("ones", "new_ones"), filled(exactly(1))),
    **dict.fromkeys(("empty", "new_empty", "empty_strided", "new_empty_strided"), filled(ANYTHING)),
    **dict.fromkeys(("rand", "randn", "randint"), filled(FINITE)),
    **dict.fromkeys(("full", "new_full"), full),
    "scalar_tensor": scalar,
    "arange": count,
    "eye": eye,
    "zeros_like": like(exactly(0)),
    "ones_like": like(exactly(1)),
    "empty_like": like(ANYTHING),
    **dict.fromkeys(("rand_like", "randn_like"), like(FINITE)),
    "full_like": like(None),
}

TAKES_SIZES = frozenset(RULES)
