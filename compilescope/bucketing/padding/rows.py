"""Which dimensions of a tensor are rows that may be padded, and how views move them.

The invariant all rules keep: cutting a tensor of the padded run back to its real rows, along each of its
axes, gives exactly the tensor of the unpadded run; a tensor without an axis is the same in both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy  # type: ignore[import-untyped]

from compilescope.bucketing.padding.values import ANYTHING, Values

ONE = sympy.Integer(1)


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of ``outer * rows * inner`` entries, of which ``rows`` grows with the padding.

    ``pads`` are the entries behind the real rows, whatever their other indices are; ``facing``, where more is
    known of them, those of ``pads`` that lie among the real rows of all other axes. Where ``first`` is a
    number, each entry is its own place along the axis and that much more, as in an arange.
    """

    rows: Any
    pads: Values = ANYTHING
    outer: Any = ONE
    inner: Any = ONE
    first: int | None = None
    facing: Values | None = None

    @property
    def is_plain(self) -> bool:
        return bool(self.outer == 1 and self.inner == 1)

    @property
    def seen(self) -> Values:
        """What the real rows of other axes meet behind the real rows of this one."""
        return self.pads if self.facing is None else self.facing

    def with_pads(self, pads: Values, facing: Values | None = None) -> Axis:
        return replace(self, pads=pads, first=None, facing=facing)

    def aligns_with(self, other: Axis) -> bool:
        return (self.rows, self.outer, self.inner) == (other.rows, other.outer, other.inner)


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor: an axis or None for each dimension, and what is known of all its entries.

    ``among``, where it is set, says that entries which are no padding are numbers of real rows, of so many.
    """

    axes: tuple[Axis | None, ...]
    whole: Values = ANYTHING
    masks: frozenset[str] = frozenset()
    among: Any = None

    @property
    def has_axis(self) -> bool:
        return any(axis is not None for axis in self.axes)

    @property
    def axis_count(self) -> int:
        return sum(axis is not None for axis in self.axes)

    def pads(self, dim: int) -> Values:
        """The entries behind the real rows of ``dim``; any entry where it is no axis."""
        axis = self.axes[dim]
        return self.whole if axis is None else axis.pads


class CannotRegroupError(Exception):
    """The new shape cuts through the rows."""


def regroup(
    axes: Sequence[Axis | None], shape: Sequence[Any], new_shape: Sequence[Any]
) -> tuple[Axis | None, ...]:
    """The axes after ``view(new_shape)``. Sizes are sympy. Raises CannotRegroupError."""
    left = deque(_factors(axes, shape))
    grouped = [_take(left, size) for size in new_shape]
    if any(isinstance(factor, Axis) or factor != 1 for factor in left):
        raise CannotRegroupError
    return tuple(grouped)


def _factors(axes: Sequence[Axis | None], shape: Sequence[Any]) -> list[Any]:
    """Sizes and axes from the outermost in; an axis stands for its rows alone."""
    found: list[Any] = []
    for axis, size in zip(axes, shape, strict=True):
        if axis is None:
            found.append(size)
        else:
            found += [axis.outer, replace(axis, outer=ONE, inner=ONE), axis.inner]
    return [factor for factor in found if isinstance(factor, Axis) or factor != 1]


def _take(left: deque[Any], wanted: Any) -> Axis | None:
    taken, axis, outer, inner = ONE, None, ONE, ONE
    while taken != wanted:
        if not left:
            raise CannotRegroupError
        factor = left.popleft()
        if isinstance(factor, Axis):
            if axis is not None:
                raise CannotRegroupError
            axis, taken = factor, sympy.expand(taken * factor.rows)
            continue
        part = _part(factor, wanted, taken)
        if part != factor:
            left.appendleft(sympy.cancel(factor / part))
        taken = sympy.expand(taken * part)
        outer, inner = (outer * part, inner) if axis is None else (outer, inner * part)
    if wanted == 0 or axis is None:
        return None
    return replace(axis, outer=outer, inner=inner)


def _part(factor: Any, wanted: Any, taken: Any) -> Any:
    """How much of a factor without rows belongs to a dimension of size ``wanted``."""
    missing = sympy.cancel(wanted / taken)
    if sympy.fraction(missing)[1] != 1:
        raise CannotRegroupError
    if not _divides(factor, missing):
        if not _divides(missing, factor):
            raise CannotRegroupError
        return missing
    return factor


def _divides(factor: Any, size: Any) -> bool:
    quotient = sympy.cancel(size / factor)
    return bool(sympy.fraction(quotient)[1] == 1)
