"""Outputs over memory that they do not own, with NumPy's protocol in the place of CUDA's."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compilescope.bucketing.graphs.outputs import PoolMemory, left_to_the_pool

from .host import over_host


class Keeper:
    """Stands for the graph that keeps its pool."""


def left(*outputs: Any, keeper: object = None, is_in_pool: Any = lambda address: True) -> tuple[Any, ...]:
    return left_to_the_pool(outputs, keeper, is_in_pool, over_host)


DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]


@given(
    st.lists(st.integers(0, 4), min_size=0, max_size=3),
    st.sampled_from(DTYPES),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_they_have_the_values_and_the_layout(
    shape: list[int], dtype: torch.dtype, offset: int, random: Any
) -> None:
    whole = torch.arange(offset + 100).remainder(7).to(dtype)
    dims = list(range(len(shape)))
    random.shuffle(dims)
    real = whole[offset : offset + int(np.prod(shape))].view(shape).permute(dims)
    (mine,) = left(real)
    assert (mine.shape, mine.stride(), mine.dtype) == (real.shape, real.stride(), dtype)
    assert mine.storage_offset() == real.storage_offset()
    assert torch.equal(mine, real)
    assert mine.untyped_storage()._cdata != real.untyped_storage()._cdata


def test_what_is_written_later_is_seen() -> None:
    real = torch.zeros(4, 8)
    (mine,) = left(real)
    real.fill_(3)
    assert mine.sum() == 96


def test_outputs_that_share_a_storage_go_on_sharing_it() -> None:
    whole = torch.arange(24.0).view(4, 6)
    first, second, alone, number = left(whole[:, :3], whole.t(), torch.ones(3), 5)
    assert first.untyped_storage()._cdata == second.untyped_storage()._cdata
    assert alone.untyped_storage()._cdata != first.untyped_storage()._cdata
    first.fill_(-1)
    assert second.t()[:, :3].eq(-1).all()
    assert number == 5


def test_a_view_in_another_dtype_of_a_storage_that_is_no_multiple_of_it() -> None:
    whole = torch.arange(11, dtype=torch.uint8)
    wide = whole[:8].view(torch.int32)
    first, second = left(wide, whole)
    assert torch.equal(first, wide)
    assert torch.equal(second, whole)


def test_the_pool_is_kept_as_long_as_an_output() -> None:
    keeper = Keeper()
    gone = weakref.ref(keeper)
    real = torch.ones(4)
    (mine,) = left(real, keeper=keeper)
    handed_out = mine.detach()[1:]
    del keeper, mine
    gc.collect()
    assert gone() is not None
    del handed_out
    gc.collect()
    assert gone() is None


def test_what_lies_elsewhere_is_kept_as_it_is() -> None:
    constant, made = torch.ones(4), torch.zeros(4)
    outputs = left(constant, made, None, is_in_pool=lambda address: address == made.data_ptr())
    assert outputs[0] is constant
    assert outputs[1] is not made
    assert outputs[2] is None


NUMBERS = torch.tensor([1 + 2j, 3 - 4j, 5j])


@pytest.mark.parametrize("output", [NUMBERS.conj(), NUMBERS.conj().imag, NUMBERS.conj().conj().imag])
def test_signs_that_are_changed_when_it_is_read(output: torch.Tensor) -> None:
    (mine,) = left(output)
    assert mine.untyped_storage()._cdata != output.untyped_storage()._cdata
    assert mine.data_ptr() == output.data_ptr()
    assert (mine.is_conj(), mine.is_neg()) == (output.is_conj(), output.is_neg())
    torch.testing.assert_close(mine, output)


@pytest.mark.parametrize("output", [torch.nn.Parameter(torch.ones(4)), torch.ones(4).to_sparse()])
def test_what_is_more_than_a_layout_is_kept_as_it_is(output: torch.Tensor) -> None:
    assert left(output)[0] is output


def test_where_the_protocol_is_not_served_they_own_their_memory() -> None:
    real = torch.ones(4)

    def refuses(memory: PoolMemory, device: torch.device) -> torch.Tensor:
        raise RuntimeError("Numpy is not available")

    def copies(memory: PoolMemory, device: torch.device) -> torch.Tensor:
        return over_host(memory, device).clone()

    for over in (refuses, copies):
        assert left_to_the_pool([real], None, lambda address: True, over)[0] is real
