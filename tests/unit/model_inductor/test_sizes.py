from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.model.inductor.sizes import Size, product, size
from compilescope.model.inductor.tensors import Tensor, dtype_of, item_bytes, printed_tensor

_NAMES = ("s0", "s27", "u3")


def _expressions() -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(_NAMES), st.integers(0, 50).map(str))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda e: f"(({e} + 7)//8)"),
            st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        ),
        max_leaves=8,
    )


@given(_expressions(), st.fixed_dictionaries({name: st.integers(1, 64) for name in _NAMES}))
def test_an_expression_keeps_its_value(text: str, values: dict[str, int]) -> None:
    assert size(text).at(values) == eval(text, {"max": max}, dict(values))


@given(_expressions(), _expressions(), st.fixed_dictionaries({n: st.integers(1, 64) for n in _NAMES}))
def test_sums_and_products_are_those_of_the_values(a: str, b: str, values: dict[str, int]) -> None:
    left, right = size(a).at(values), size(b).at(values)
    assert left is not None
    assert right is not None
    assert (size(a) + size(b)).at(values) == left + right
    assert (size(a) * size(b)).at(values) == left * right
    assert (size(a) - size(b)).at(values) == left - right


@given(_expressions(), st.fixed_dictionaries({name: st.integers(1, 64) for name in _NAMES}))
def test_what_is_printed_reads_back(text: str, values: dict[str, int]) -> None:
    assert size(str(size(text))).at(values) == size(text).at(values)


def test_a_number_is_a_value_and_symbols_are_not() -> None:
    assert size("4*512").value == 2048
    assert size(0).value == 0
    assert size("4*s27").value is None
    assert str(product(("4", "s27", "s27"))) == "4*s27**2"
    assert size("s27").at({}) is None


@given(st.text(max_size=60))
def test_any_text_is_a_size(text: str) -> None:
    assert isinstance(size(text), Size)


@pytest.mark.parametrize("text", ["__import__('os')", "a.b(1)", "1/0", "9**9**9", "[1]*10**9", "f'{s0}'"])
def test_odd_expressions_have_no_value(text: str) -> None:
    assert size(text).at({"s0": 1}) is None or size(text).value is not None


def test_bytes_are_those_of_the_storage_spanned() -> None:
    assert Tensor("float32", ("4", "8"), ("8", "1")).size_bytes == size(128)
    assert Tensor("bfloat16", ("4", "8"), ("0", "1")).size_bytes == size(16)  # expanded: one row
    assert Tensor("float32", ("4", "8"), ("16", "1")).size_bytes == size((3 * 16 + 8) * 4)  # padded rows
    assert Tensor("int64", (), ()).size_bytes == size(8)
    assert Tensor("float32", ("0", "8"), ("8", "1")).size_bytes == size(0)
    assert Tensor(None, ("4",), ("1",)).size_bytes is None
    assert str(Tensor("float32", ("s0", "8"), ("8", "1")).size_bytes) == "32*s0"


def test_printed_tensors() -> None:
    found = printed_tensor("bf16[4, s27, 512][512*s27, 512, 1]cuda:0")
    assert found == Tensor("bfloat16", ("4", "s27", "512"), ("512*s27", "512", "1"), "cuda:0")
    assert printed_tensor("f32[][]cpu") == Tensor("float32", (), (), "cpu")
    assert printed_tensor("Sym(s27)") is None
    assert [item_bytes(dtype_of(d)) for d in ("b8", "fp8e4nv", "bf16", "torch.int64", "c64")] == [
        1,
        1,
        2,
        8,
        8,
    ]


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("32*CeilToInt(IntTrueDiv(s50, 32))", 48, 64),
        ("Max(1, 32 * CeilToInt(IntTrueDiv(s50, 32)))", 64, 64),
        ("FloorToInt(IntTrueDiv(s50, 7))", 48, 6),
        ("ModularIndexing(s50, 4, 5)", 48, 2),
        ("256*math.ceil(s50 / 32)", 48, 512),
        ("s50 / 5", 48, None),
        ("s50 / 0", 48, None),
        ("IntTrueDiv(s50, 0)", 48, None),
        ("IntTrueDiv(s50, 5)", 48, None),  # no whole number: not a size
    ],
)
def test_torchs_rounding_is_evaluated(text: str, hint: int, value: int | None) -> None:
    assert size(text).at({"s50": hint}) == value
