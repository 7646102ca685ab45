"""What is claimed of numbers nobody has seen holds for every number that could be meant."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.bucketing.padding.values import (
    ANYTHING,
    FINITE,
    INF,
    LOWEST,
    TRUTH,
    Values,
    exactly,
    of_operation,
)

SMALL = [-INF, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, INF]

UNARY = {
    "neg": torch.neg,
    "relu": torch.relu,
    "exp": torch.exp,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "abs": torch.abs,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "log": torch.log,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "rsub": lambda a, b: b - a,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp_min": lambda a, b: torch.clamp_min(a, b),
    "clamp_max": lambda a, b: torch.clamp_max(a, b),
    "eq": torch.eq,
    "lt": torch.lt,
    "ge": torch.ge,
}


@st.composite
def known(draw: st.DrawFn) -> tuple[Values, float]:
    """Values, and one of them."""
    low, high = sorted((draw(st.sampled_from(SMALL)), draw(st.sampled_from(SMALL))))
    finite = draw(st.booleans()) and math.isfinite(min(max(low, -1e3), high))
    values = Values(low, high, finite, draw(st.booleans()))
    inside = [x for x in SMALL if low <= x <= high and (math.isfinite(x) or not finite)]
    if not values.number:
        inside.append(math.nan)
    return (values, draw(st.sampled_from(inside))) if inside else (exactly(0), 0.0)


def holds(values: Values, number: float) -> bool:
    if math.isnan(number):
        return not values.number and not values.finite
    return values.low <= number <= values.high and (math.isfinite(number) or not values.finite)


many = settings(max_examples=300, deadline=None, derandomize=True)


@many
@given(st.sampled_from(sorted(UNARY)), known())
def test_one_operand(name: str, operand: tuple[Values, float]) -> None:
    values, number = operand
    result = float(UNARY[name](torch.tensor(number, dtype=torch.float64)))
    assert holds(of_operation(name, [values]), result), (name, values, number, result)


@many
@given(st.sampled_from(sorted(BINARY)), known(), known())
def test_two_operands(name: str, left: tuple[Values, float], right: tuple[Values, float]) -> None:
    a, b = (torch.tensor(number, dtype=torch.float64) for _, number in (left, right))
    result = float(BINARY[name](a, b))
    claimed = of_operation(name, [left[0], right[0]])
    assert holds(claimed, result), (name, left, right, claimed, result)


@many
@given(known(), known(), st.booleans())
def test_a_choice_and_a_join(left: tuple[Values, float], right: tuple[Values, float], which: bool) -> None:
    chosen = left[1] if which else right[1]
    for condition in (TRUTH, exactly(which)):
        assert holds(of_operation("where", [condition, left[0], right[0]]), chosen)
        assert holds(of_operation("masked_fill", [right[0], condition, left[0]]), chosen)
    assert holds(left[0].join(right[0]), chosen)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("mul", [FINITE, exactly(0)], exactly(0)),
        ("mul", [ANYTHING, exactly(0)], ANYTHING),
        ("masked_fill", [FINITE, exactly(1), exactly(-INF)], exactly(-INF)),
        ("logical_and", [TRUTH, exactly(0)], exactly(0)),
        ("bitwise_and", [TRUTH, exactly(1)], TRUTH),
        ("logical_or", [TRUTH, exactly(1)], exactly(1)),
        ("logical_not", [exactly(0)], exactly(1)),
        ("eq", [exactly(-100), exactly(-100)], exactly(1)),
        ("exp", [exactly(-INF)], exactly(0)),
        ("add", [exactly(-INF), FINITE], exactly(-INF)),
        ("a new operation", [FINITE], ANYTHING),
    ],
)
def test_what_masks_rely_on(name: str, operands: list[Values], expected: Values) -> None:
    assert of_operation(name, operands) == expected


def test_an_operation_without_a_finite_value_or_slope_somewhere_is_not_known_to_be_finite() -> None:
    finite = {name: of_operation(name, [FINITE, FINITE]).finite for name in ("div", "add", "mul")}
    finite |= {name: of_operation(name, [FINITE]).finite for name in ("sqrt", "acos", "log", "gelu", "exp")}
    assert [name for name, is_finite in finite.items() if not is_finite] == ["div", "sqrt", "acos", "log"]


def test_a_mask_of_the_lowest_number_stays_one_whatever_is_added() -> None:
    for lowest in (torch.finfo(torch.float32).min, torch.finfo(torch.bfloat16).min):
        assert of_operation("add", [FINITE, exactly(lowest)]).is_at_most(LOWEST)
    assert not of_operation("add", [FINITE, exactly(-1e30)]).is_at_most(LOWEST)
    assert not of_operation("add", [ANYTHING, exactly(LOWEST)]).is_at_most(LOWEST)


def test_a_sum_is_below_infinity_where_both_are() -> None:
    masked = FINITE.join(exactly(-INF))
    assert masked.below_inf
    assert masked.number
    assert of_operation("add", [masked, FINITE]).below_inf
    assert not of_operation("add", [masked, FINITE.join(exactly(INF))]).below_inf
