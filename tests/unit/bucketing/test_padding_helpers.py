from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.bucketing import BucketedBackend, Pad
from compilescope.bucketing.padding import (
    cumulative_lengths,
    masked_mean,
    packed_causal_mask,
    packed_position_ids,
    packed_sequence_ids,
    pad_collate,
    pad_cumulative_lengths,
    pad_to,
    real_rows,
)
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder

PADS = BucketLadder.pads([8, 16])


def test_sequences_are_told_apart_by_where_they_begin() -> None:
    lengths = cumulative_lengths([3, 1, 2])
    assert lengths.tolist() == [0, 3, 4, 6]
    assert lengths.dtype == torch.int32
    assert packed_position_ids(lengths).tolist() == [0, 1, 2, 0, 0, 1]
    assert packed_sequence_ids(lengths).tolist() == [0, 0, 0, 1, 2, 2]
    assert packed_causal_mask(packed_sequence_ids(lengths)).sum().item() == 6 + 1 + 3


def test_padding_is_a_sequence_of_its_own_and_empty_ones_fill_the_shape() -> None:
    lengths = cumulative_lengths([3, 2])
    assert pad_cumulative_lengths(lengths, 8).tolist() == [0, 3, 5, 8]
    assert pad_cumulative_lengths(lengths, 5).tolist() == [0, 3, 5]
    assert pad_cumulative_lengths(lengths, 8, entries=6).tolist() == [0, 3, 5, 8, 8, 8]
    assert pad_cumulative_lengths(lengths, 16, longest=4).tolist() == [0, 3, 5, 9, 13, 16]
    with pytest.raises(UsageError, match="5 tokens do not fit into 4"):
        pad_cumulative_lengths(lengths, 4)
    with pytest.raises(UsageError, match="do not fit into 3 entries"):
        pad_cumulative_lengths(lengths, 8, entries=3)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 20), st.integers(1, 7))
def test_lengths_after_padding_cover_every_token_once(lengths: list[int], more: int, longest: int) -> None:
    size = sum(lengths) + more
    padded = pad_cumulative_lengths(cumulative_lengths(lengths), size, longest=longest)
    steps = padded.diff().tolist()
    assert steps[: len(lengths)] == lengths
    assert sum(steps) == size
    assert all(0 < step <= longest for step in steps[len(lengths) :])
    assert packed_position_ids(padded).shape == (size,)


def test_attention_of_real_tokens_does_not_see_the_padding() -> None:
    torch.manual_seed(0)
    lengths = cumulative_lengths([3, 2])
    q = torch.randn(1, 1, 8, 4)

    def attend(cu_seqlens: torch.Tensor) -> torch.Tensor:
        size = int(cu_seqlens[-1])
        x = q[:, :, :size]
        mask = packed_causal_mask(packed_sequence_ids(cu_seqlens))
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    torch.testing.assert_close(attend(pad_cumulative_lengths(lengths, 8))[:, :, :5], attend(lengths))


def test_samples_are_padded_to_the_ladder_and_stacked() -> None:
    samples = [
        {"input_ids": torch.arange(1, n + 1), "labels": torch.arange(n), "weight": torch.tensor(float(n))}
        for n in (3, 10)
    ]
    batch = pad_collate(PADS, batch=BucketLadder.pads([4]))(samples)
    assert batch["input_ids"].shape == batch["labels"].shape == batch["attention_mask"].shape == (4, 16)
    assert batch["input_ids"][0].tolist() == [1, 2, 3] + [0] * 13
    assert batch["labels"][0, 3:].tolist() == [-100] * 13
    assert batch["labels"][3].tolist() == [-100] * 16
    assert batch["attention_mask"].sum(1).tolist() == [3, 10, 0, 0]
    assert batch["weight"].tolist() == [3.0, 10.0, 0.0, 0.0]
    assert pad_collate(PADS)([{"x": torch.zeros(20)}])["x"].shape == (1, 20)


def test_a_mean_over_real_rows() -> None:
    values = torch.tensor([[1.0, 3.0, math.nan], [5.0, math.inf, 7.0]], requires_grad=True)
    mask = real_rows(torch.tensor([2, 1]), 3)
    mean = masked_mean(values, mask)
    assert mean.item() == 3.0
    mean.backward()
    assert values.grad is not None
    assert values.grad.tolist() == [[pytest.approx(1 / 3)] * 2 + [0.0], [pytest.approx(1 / 3), 0.0, 0.0]]
    assert masked_mean(torch.ones(2, 3, 4), mask).item() == 1.0
    assert masked_mean(torch.ones(2, 3, 4), mask, dim=1).tolist() == [[1.0] * 4] * 2
    assert masked_mean(torch.ones(2), torch.zeros(2, dtype=torch.bool)).isnan()


def test_what_does_not_fit_is_an_error() -> None:
    assert pad_to(torch.ones(2, 3), 5, 1, 9.0)[0].tolist() == [1, 1, 1, 9, 9]
    with pytest.raises(UsageError, match="3 entries along dimension 1 do not fit into 2"):
        pad_to(torch.ones(2, 3), 2, 1)


DIMS: dict[str, dict[int, str | None]] = {"x": {0: "n", 1: "m"}}


@pytest.mark.parametrize(
    ("ladder", "contracts", "message"),
    [
        (PADS, [], "the ladder of 'n' has pads, and no contract says how to pad"),
        (PADS, [Pad("y", 0)], "dimension 0 of 'y' has no name in dims"),
        (PADS, [Pad("x", 0), Pad("x", 1)], "may be padded along 'm', whose ladder has no pads"),
        (PADS, [Pad("x", 0, mask="m")], "the mask 'm' of 'x' has no contract of its own"),
    ],
)
def test_contracts_that_cannot_be_meant(ladder: BucketLadder, contracts: list[Pad], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        BucketedBackend({"n": ladder}, DIMS, pad=contracts)


@pytest.mark.parametrize("value", [math.nan, "0", None])
def test_a_pad_value_is_a_number(value: Any) -> None:
    with pytest.raises(UsageError, match="give a number"):
        Pad("x", 0, value)


def test_a_fallback_is_one_of_two() -> None:
    with pytest.raises(UsageError, match="neither 'dynamic' nor 'eager'"):
        BucketedBackend({"n": BucketLadder.pins([4])}, DIMS, fallback="none")  # type: ignore[arg-type]
