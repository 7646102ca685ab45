"""The collator and the callback, without training."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from compilescope.errors import UsageError
from compilescope.integrations import huggingface
from compilescope.integrations.huggingface import CompileScopeCallback, PackedCollator
from compilescope.ladder import BucketLadder

SAMPLES = [{"input_ids": [5, 6, 7]}, {"input_ids": torch.tensor([8, 9]), "labels": [1, 2]}]


def test_a_batch_is_one_row_padded_to_a_rung_by_a_sequence_of_its_own() -> None:
    collate = PackedCollator(BucketLadder.pins([8, 16]), pad_token_id=3, sequence_ids=True)
    batch = collate(SAMPLES)
    assert batch["input_ids"].tolist() == [[5, 6, 7, 8, 9, 3, 3, 3]]
    assert batch["labels"].tolist() == [[-100, 6, 7, -100, 2, -100, -100, -100]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 0, 1, 0, 1, 2]]
    assert batch["sequence_ids"].tolist() == [[0, 0, 0, 1, 1, 2, 2, 2]]
    assert (collate.real_tokens, collate.padded_tokens) == (5, 3)


def test_without_a_ladder_and_above_every_rung_nothing_is_padded() -> None:
    for ladder in (None, BucketLadder.pins([4])):
        assert PackedCollator(ladder)(SAMPLES)["input_ids"].shape == (1, 5)


def test_sequence_lengths_have_one_shape_whatever_is_packed() -> None:
    collate = PackedCollator(BucketLadder.pins([8, 16]), cu_seqlens=True, max_sequences=3, max_length=6)
    first, second = collate(SAMPLES), collate([{"input_ids": list(range(6))}] * 2)
    assert first["cu_seq_lens_q"].tolist() == [0, 3, 5, 8, 8, 8, 8]
    assert second["cu_seq_lens_q"].tolist() == [0, 6, 12, 16, 16, 16, 16]
    assert first["cu_seq_lens_q"].dtype == torch.int32
    assert first["max_length_k"] == second["max_length_k"] == 6


def test_more_sequences_than_declared_are_an_error() -> None:
    collate = PackedCollator(BucketLadder.pins([8]), max_sequences=1, max_length=8)
    with pytest.raises(UsageError, match="do not fit into 3 entries"):
        collate([{"input_ids": [1]}] * 3)


def test_the_callback_marks_steps_and_records_results(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(huggingface.compilescope, "step", lambda: seen.append("step"), raising=False)
    monkeypatch.setattr(
        huggingface.compilescope, "check", lambda name, value: seen.append((name, value)), raising=False
    )
    callback = CompileScopeCallback()
    callback.on_step_end(None, None, None, model=None)
    callback.on_log(None, None, None, logs={"loss": 2.5, "epoch": 1.0, "train_runtime": 3.0})
    callback.on_log(None, None, None)
    assert seen == ["step", ("loss", 2.5)]
