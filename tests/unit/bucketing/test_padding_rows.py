"""A view of padded rows, cut, is the view of the real ones."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.bucketing.padding.call import unfolded_and_cut
from compilescope.bucketing.padding.rows import Axis, CannotRegroupError, regroup
from compilescope.bucketing.padding.values import exactly

REAL, PADDED = 7, 11
N = sympy.Symbol("n", integer=True, positive=True)


def at(shape: list[object], rows: int) -> list[int]:
    return [int(sympy.sympify(size).subs(N, rows)) for size in shape]


def cut(tensor: torch.Tensor, axes: tuple[Axis | None, ...]) -> torch.Tensor:
    for dim, axis in enumerate(axes):
        if axis is not None:
            outer, inner = int(axis.outer), int(axis.inner)
            tensor = unfolded_and_cut(tensor, dim, outer, PADDED, inner, REAL)
    return tensor


Grouped = list[list[object]]
"""The factors of each dimension, outermost first."""


@st.composite
def shapes(draw: st.DrawFn) -> tuple[Grouped, Grouped]:
    """Two shapes of the same entries, in both of which the rows are whole."""
    factors: list[object] = [*draw(st.lists(st.sampled_from([1, 2, 3]), max_size=3)), N]
    factors += draw(st.lists(st.sampled_from([1, 2, 4]), max_size=3))

    def grouped() -> Grouped:
        cuts = sorted(draw(st.sets(st.integers(1, len(factors)), max_size=3)) - {len(factors)})
        return [factors[a:b] for a, b in pairwise([0, *cuts, len(factors)])]

    return grouped(), grouped()


def sizes_of(grouped: Grouped) -> list[object]:
    return [sympy.prod(factors) for factors in grouped]


def axes_of(grouped: Grouped) -> tuple[Axis | None, ...]:
    def axis(factors: list[object]) -> Axis | None:
        if N not in factors:
            return None
        place = factors.index(N)
        return Axis(N, exactly(0), sympy.prod(factors[:place]), sympy.prod(factors[place + 1 :]))

    return tuple(map(axis, grouped))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(shapes())
def test_regrouped_rows_are_cut_to_the_real_view(pair: tuple[Grouped, Grouped]) -> None:
    before, after = (sizes_of(grouped) for grouped in pair)
    whole = torch.arange(prod(at(before, PADDED)), dtype=torch.float32).reshape(at(before, PADDED))
    own = axes_of(pair[0])
    axes = regroup(own, before, after)
    real = cut(whole, own).reshape(at(after, REAL))
    torch.testing.assert_close(cut(whole.reshape(at(after, PADDED)), axes), real)


@pytest.mark.parametrize(
    ("before", "after"),
    [([N, 4], [2, 2 * N]), ([2, N], [N, 2]), ([N, 3], [3 * N + 1]), ([N], [N, 2])],
)
def test_a_shape_that_cuts_through_the_rows(before: list[object], after: list[object]) -> None:
    sizes = [sympy.sympify(size) for size in before]
    axes = [Axis(N) if size == N else None for size in sizes]
    with pytest.raises(CannotRegroupError):
        regroup(axes, sizes, [sympy.sympify(size) for size in after])
