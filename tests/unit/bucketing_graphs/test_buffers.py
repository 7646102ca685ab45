from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compilescope.bucketing.graphs import StaticBuffers
from compilescope.bucketing.graphs.buffers import CopiedInput, overlaps_itself
from compilescope.ladder import BucketLadder

CPU = torch.device("cpu")


def wanted(tensor: torch.Tensor, position: int = 0) -> CopiedInput:
    return CopiedInput(
        position,
        "x",
        tuple(tensor.shape),
        tuple(tensor.stride()),
        tensor.storage_offset(),
        tensor.dtype,
        tensor.device,
    )


def test_the_largest_rung_makes_the_buffer_and_others_are_views_of_it() -> None:
    buffers = StaticBuffers()
    large, small = (buffers.view(wanted(torch.empty(rows, 8))) for rows in (16, 4))
    assert large.untyped_storage().data_ptr() == small.untyped_storage().data_ptr()
    assert buffers.size_bytes == 16 * 8 * 4


def test_a_larger_one_that_comes_later_leaves_earlier_views_alone() -> None:
    buffers = StaticBuffers()
    small = buffers.view(wanted(torch.empty(4, 8)))
    large = buffers.view(wanted(torch.empty(16, 8)))
    small.fill_(1)
    large.fill_(2)
    assert small.sum() == 32


def test_positions_have_buffers_of_their_own() -> None:
    buffers = StaticBuffers()
    first, second = (buffers.view(wanted(torch.empty(4), position)) for position in (0, 1))
    first.fill_(1)
    second.fill_(2)
    assert first.tolist() == [1.0] * 4


def test_an_empty_input() -> None:
    assert StaticBuffers().view(wanted(torch.empty(0, 8))).shape == (0, 8)


@st.composite
def layouts(draw: st.DrawFn) -> torch.Tensor:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    stride = draw(st.lists(st.integers(0, 7), min_size=len(shape), max_size=len(shape)))
    offset = draw(st.integers(0, 5))
    length = 1 + offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return torch.arange(float(length)).as_strided(shape, stride, offset)


@given(layouts())
def test_overlap_is_never_missed(tensor: torch.Tensor) -> None:
    elements = tensor.flatten().tolist()
    if len(set(elements)) < len(elements):
        assert overlaps_itself(tensor)
    if tensor.is_contiguous():
        assert not overlaps_itself(tensor)


@given(layouts(), st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool]))
def test_a_view_has_the_layout_and_holds_what_is_copied(tensor: torch.Tensor, dtype: torch.dtype) -> None:
    tensor = tensor.to(dtype)
    view = StaticBuffers().view(wanted(tensor))
    assert (view.shape, view.stride(), view.dtype) == (tensor.shape, tensor.stride(), dtype)
    assert view.storage_offset() == tensor.storage_offset()
    if not overlaps_itself(tensor):
        assert torch.equal(view.copy_(tensor), tensor)


LAYOUTS: dict[str, Any] = {
    "contiguous": lambda n: torch.randn(n, 8),
    "transposed": lambda n: torch.randn(8, n).t(),
    "columns of a wider one": lambda n: torch.randn(n, 11)[:, 1:9],
    "with an offset": lambda n: torch.randn(n + 7, 8)[4 : 4 + n],
    "every other row": lambda n: torch.randn(2 * n, 8)[::2],
}


@pytest.mark.parametrize("name", LAYOUTS)
@torch.no_grad()
def test_replays_with_any_layout_equal_eager(graphed: Any, name: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous().t() * 2 + x.flip(0)

    model, _ = graphed(function, BucketLadder.pins([4, 8, 16]), {"x": {0: "n"}})
    for size in (8, 16, 4, 8, 5):
        x = LAYOUTS[name](size)
        y = model(x)
        torch.testing.assert_close(y, function(x))
        assert y.stride() == function(x).stride()
