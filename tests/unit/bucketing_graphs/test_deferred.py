from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from compilescope.bucketing.graphs.deferred import DeferredPad, deferred_pad, made


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_rows_land_where_pad_would_put_them(shape: list[int], data: st.DataObject) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    more = data.draw(st.integers(0, 5))
    value = data.draw(st.sampled_from([0.0, -1.5, float("inf")]))
    tensor = torch.randn(shape)
    amounts = (0, 0) * (len(shape) - dim - 1) + (0, more)
    waiting = deferred_pad(tensor, amounts, value=value)
    expected = torch.nn.functional.pad(tensor, amounts, value=value)
    assert isinstance(waiting, DeferredPad)
    target = torch.full_like(expected, torch.nan)
    waiting.copy_to(target)
    assert torch.equal(target, expected)
    assert torch.equal(made(waiting), expected)


def test_several_dimensions_one_after_the_other() -> None:
    tensor = torch.randn(2, 3)
    twice = deferred_pad(deferred_pad(tensor, (0, 1), value=7.0), (0, 0, 0, 2), value=0.0)
    target = torch.empty(4, 4)
    assert isinstance(twice, DeferredPad)
    twice.copy_to(target)
    expected = torch.nn.functional.pad(torch.nn.functional.pad(tensor, (0, 1), value=7.0), (0, 0, 0, 2))
    assert torch.equal(target, expected)


def test_what_it_cannot_defer_it_does() -> None:
    tensor = torch.randn(2, 3)
    assert torch.equal(made(deferred_pad(tensor, (1, 1))), torch.nn.functional.pad(tensor, (1, 1)))
    assert made(5) == 5
