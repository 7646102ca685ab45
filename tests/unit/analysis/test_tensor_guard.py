"""Tensor guards: every property that differs, and the words for what it amounts to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.tensor_guard import Layout, differences, memory_format, parse_layout

KEYS = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
CODE = (
    f"check_tensor(L['x'], Tensor, {KEYS}, torch.float32, device=None, requires_grad=False, "
    "size=[2, 3, 16, 16], stride=[768, 256, 16, 1])"
)


def _layout() -> Layout:
    layout = parse_layout(CODE)
    assert layout is not None
    return layout


def _got(**changed: Any) -> dict[str, Any]:
    got = {"dtype": "float32", "device": "cpu", "requires_grad": False, "keys": KEYS}
    return {**got, "size": [2, 3, 16, 16], "stride": [768, 256, 16, 1], **changed}


def _found(**changed: Any) -> list[tuple[str, str, Any, Any]]:
    return [(c.kind, c.source, c.old, c.new) for c in differences("x", _layout(), _got(**changed), {})]


def test_the_guards_own_line_is_read() -> None:
    assert _layout() == Layout(KEYS, "float32", None, False, (2, 3, 16, 16), (768, 256, 16, 1))


def test_a_dynamic_size_is_not_guarded() -> None:
    layout = parse_layout(CODE.replace("size=[2,", "size=[None,"))
    assert layout is not None
    assert differences("x", layout, _got(size=[9, 3, 16, 16]), {}) == []


def test_an_equal_tensor_has_no_differences() -> None:
    assert _found() == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"size": [4, 3, 16, 16]}, [("size", "x dim 0", 2, 4)]),
        ({"size": [1, 3, 16, 16]}, [("size_one", "x dim 0", 2, 1)]),
        ({"size": [2, 3, 8, 8]}, [("size", "x dim 2", 16, 8), ("size", "x dim 3", 16, 8)]),
        ({"size": [2, 3]}, [("rank", "x", 4, 2)]),
        ({"dtype": "bfloat16"}, [("dtype", "x", "float32", "bfloat16")]),
        ({"requires_grad": True}, [("requires_grad", "x", False, True)]),
        ({"keys": KEYS.replace("CPU", "CUDA"), "device": "cuda:0"}, [("device", "x", "cpu", "cuda:0")]),
        ({"stride": [768, 1, 48, 3]}, [("stride", "x stride dim 1", 256, 1)]),
        ({"keys": KEYS.replace(")", ", AutocastCPU)")}, []),
    ],
)
def test_differences(changed: dict[str, Any], expected: list[tuple[str, str, Any, Any]]) -> None:
    assert _found(**changed) == expected


def test_strides_are_called_a_memory_format() -> None:
    (change,) = differences("x", _layout(), _got(stride=[768, 1, 48, 3]), {})
    assert change.detail == "contiguous -> channels_last"


def test_keys_lost_inside_inference_mode_are_called_that() -> None:
    keys = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)"
    (change,) = differences("w", _layout(), _got(keys=keys), {"inference_mode": True, "had_grad_mode": False})
    assert (change.kind, change.old, change.new) == ("dispatch_keys", "no_grad", "inference_mode")


@pytest.mark.parametrize(
    ("size", "stride", "name"),
    [
        ((2, 3), (3, 1), "contiguous"),
        ((2, 3), (1, 2), "strided"),
        ((2, 8, 4, 4), (128, 1, 32, 8), "channels_last"),
        ((2, 1, 4, 4), (16, 1, 4, 1), "contiguous"),
        ((2, None), (3, 1), None),
        (None, (3, 1), None),
    ],
)
def test_memory_formats(size: Any, stride: Any, name: str | None) -> None:
    assert memory_format(size, stride) == name


@given(st.lists(st.integers(1, 5), max_size=5))
def test_dense_strides_are_contiguous(size: list[int]) -> None:
    stride, step = [], 1
    for n in reversed(size):
        stride.insert(0, step)
        step *= n
    assert memory_format(size, stride) == "contiguous"


@given(st.text(max_size=120))
def test_any_text_is_read(text: str) -> None:
    parse_layout(text)
