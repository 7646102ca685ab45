"""What is proved of an amount holds at every size; and the ways models round sizes up are proved."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import CeilToInt, FloorDiv, IntTrueDiv, Max, Min, Mod, PythonMod

from compilescope.bucketing.padding.amounts import is_bounded, is_never_negative

N = sympy.Symbol("n", integer=True, nonnegative=True)
B = sympy.Symbol("b", integer=True, nonnegative=True)

NEVER_NEGATIVE = {
    "nothing": sympy.Integer(0),
    "as torch aligns a mask": 8 - Mod(N, 8),
    "of a batch and heads": 8 - Mod(4 * N * B, 8),
    "-n % 16": PythonMod(-N, 16),
    "(16 - n % 16) % 16": Mod(16 - Mod(N, 16), 16),
    "(n + 15) // 16 * 16 - n": FloorDiv(N + 15, 16) * 16 - N,
    "-(-n // 16) * 16 - n": -FloorDiv(-N, 16) * 16 - N,
    "ceil(n / 16) * 16 - n": CeilToInt(IntTrueDiv(N, 16)) * 16 - N,
    "max(n, 32) - n": Max(0, 32 - N),
    "n - n // 2": N - FloorDiv(N, 2),
}

MAY_BE_NEGATIVE = {
    "up to 32": 32 - N,
    "one less": 7 - Mod(N, 8) - 1,
    "down to a multiple": FloorDiv(N, 16) * 16 - N,
    "of another's": N - B,
    "of no fixed step": PythonMod(-N, B),
    "the smaller": Min(N, 4) - 1,
    "a negative step": PythonMod(N, -16),
    "a product": (N - 4) * B,
}


@pytest.mark.parametrize("name", NEVER_NEGATIVE)
def test_an_amount_that_is_never_negative(name: str) -> None:
    assert is_never_negative(NEVER_NEGATIVE[name])


@pytest.mark.parametrize("name", MAY_BE_NEGATIVE)
def test_an_amount_that_may_be_negative(name: str) -> None:
    assert not is_never_negative(MAY_BE_NEGATIVE[name])


@pytest.mark.parametrize("name", NEVER_NEGATIVE)
def test_an_amount_that_stays_below_a_number(name: str) -> None:
    assert is_bounded(NEVER_NEGATIVE[name]) == (name != "n - n // 2")


numbers = st.integers(-20, 20).map(sympy.Integer)
steps = st.sampled_from([1, 2, 3, 8])


def _larger(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: Max(*p)),
        pairs.map(lambda p: Min(*p)),
        st.tuples(numbers, inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, steps).map(lambda p: FloorDiv(*p)),
        st.tuples(inner, steps).map(lambda p: PythonMod(*p)),
        st.tuples(inner, steps).map(lambda p: CeilToInt(IntTrueDiv(*p))),
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.recursive(st.one_of(numbers, st.just(N), st.just(B)), _larger, max_leaves=6))
def test_whatever_is_proved_holds_at_every_size(amount: object) -> None:
    proved, bounded = is_never_negative(amount), is_bounded(amount)
    if not proved:
        assert not bounded
        return
    found = [int(sympy.sympify(amount).subs({N: n, B: b})) for n in range(0, 40, 3) for b in (0, 1, 7)]
    assert min(found) >= 0
