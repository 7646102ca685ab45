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

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of ``outer * rows * inner`` entries, of which ``rows`` grows with the padding.

    ``pads`` are the entries behind the real rows, whatever their other indices are; ``facing``, where more is
    known of them, those of ``pads`` that lie among the real rows of all other axes. Where ``first`` is a
    number, each entry is its own place along the axis and that much more, as in an arange.

    Behind its rows a tensor may have been filled up with ``tail`` entries, as many as its size asks for: they
    are there without padding too, are no rows in either, and ``pads`` covers them. ``kept``, where more is
    known then, is the axis that is left once they are cut off.
    """

    rows: Any
    pads: Values = ANYTHING
    outer: Any = ONE
    inner: Any = ONE
    first: int | None = None
    facing: Values | None = None
    tail: Any = ZERO
    kept: Axis | None = None

    @property
    def is_plain(self) -> bool:
        return not self.is_folded and not self.has_tail

    @property
    def is_folded(self) -> bool:
        return bool(self.outer != 1 or self.inner != 1)

    @property
    def has_tail(self) -> bool:
        return bool(self.tail != 0)

    @property
    def without_tail(self) -> Axis:
        return self.kept or replace(self, tail=ZERO)

    @property
    def length(self) -> Any:
        """Entries of an axis that is not folded."""
        return sympy.expand(self.rows + self.tail)

    @property
    def seen(self) -> Values:
        """What the real rows of other axes meet behind the real rows of this one."""
        return self.pads if self.facing is None else self.facing

    def with_pads(self, pads: Values, facing: Values | None = None) -> Axis:
        return replace(self, pads=pads, first=None, facing=facing, kept=None)

    def filled_up(self, by: Any, filling: Values) -> Axis:
        """With ``by`` entries of ``filling`` behind."""
        facing = None if self.facing is None else self.facing.join(filling)
        filled = self.with_pads(self.pads.join(filling), facing)
        return replace(filled, tail=sympy.expand(self.tail + by), kept=self.without_tail)

    def cut_to(self, tail: Any) -> Axis:
        """With less behind."""
        return self.without_tail if tail == 0 else replace(self, tail=tail)

    def aligns_with(self, other: Axis) -> bool:
        return (self.rows, self.outer, self.inner, self.tail) == (
            other.rows,
            other.outer,
            other.inner,
            other.tail,
        )


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
    def has_tail(self) -> bool:
        return any(axis is not None and axis.has_tail for axis in self.axes)

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
            axis, taken = factor, sympy.expand(taken * factor.length)
            continue
        part = _part(factor, wanted, taken)
        if part != factor:
            left.appendleft(sympy.cancel(factor / part))
        taken = sympy.expand(taken * part)
        outer, inner = (outer * part, inner) if axis is None else (outer, inner * part)
    if wanted == 0 or axis is None:
        return None
    if axis.has_tail and (outer != 1 or inner != 1):
        raise CannotRegroupError
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
