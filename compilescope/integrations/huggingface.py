"""Hugging Face Trainer: packed batches of a ladder's sizes, and steps and losses in the recording.

>>> trainer = Trainer(model, args, data_collator=PackedCollator(ladder), callbacks=[CompileScopeCallback()])

Needs transformers. Install it with ``pip install "transformers[torch]"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import TrainerCallback

import compilescope
from compilescope.bucketing.padding import (
    IGNORE_INDEX,
    cumulative_lengths,
    fitting_size,
    packed_position_ids,
    packed_sequence_ids,
    pad_cumulative_lengths,
    pad_to,
)
from compilescope.ladder import BucketLadder

__all__ = ["CompileScopeCallback", "PackedCollator"]


@dataclass
class PackedCollator:
    """Packs the samples of a batch into one row and pads it to a rung by a sequence that no loss counts.

    A sample has ``input_ids`` and, optionally, ``labels``: lists or tensors of one dimension. A batch has
    ``input_ids``, ``labels`` and ``position_ids`` of shape (1, tokens). With ``sequence_ids`` it has those
    too, (1, tokens); with ``cu_seqlens`` also ``cu_seq_lens_q`` and ``cu_seq_lens_k``, int32, and
    ``max_length_q`` and ``max_length_k``, as flash attention wants them. Their shape and value vary unless
    ``max_sequences`` and ``max_length`` are given; padding is then cut into sequences of at most
    ``max_length``. The first token of each sequence is no label: the token before it belongs to another.

    ``ladder`` None packs without padding. A batch above every rung is not padded. ``real_tokens`` and
    ``padded_tokens`` count what went through it in this process.
    """

    ladder: BucketLadder | None = None
    pad_token_id: int = 0
    sequence_ids: bool = False
    cu_seqlens: bool = False
    max_sequences: int | None = None
    max_length: int | None = None
    real_tokens: int = field(default=0, init=False)
    padded_tokens: int = field(default=0, init=False)

    def __call__(self, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        tokens = [torch.as_tensor(sample["input_ids"], dtype=torch.int64) for sample in samples]
        labels = [_labels(sample, own) for sample, own in zip(samples, tokens, strict=True)]
        lengths = cumulative_lengths([own.numel() for own in tokens])
        total = int(lengths[-1])
        size = fitting_size(self.ladder, total)
        padded = pad_cumulative_lengths(lengths, size, self._entries(), self.max_length)
        self.real_tokens += total
        self.padded_tokens += size - total
        batch: dict[str, Any] = {
            "input_ids": pad_to(torch.cat(tokens), size, 0, self.pad_token_id)[None],
            "labels": pad_to(torch.cat(labels), size, 0, IGNORE_INDEX)[None],
            "position_ids": packed_position_ids(padded)[None],
        }
        if self.sequence_ids:
            batch["sequence_ids"] = packed_sequence_ids(padded)[None]
        if self.cu_seqlens:
            longest = self.max_length if self.max_length is not None else int(padded.diff().max())
            batch |= {"cu_seq_lens_q": padded, "cu_seq_lens_k": padded}
            batch |= {"max_length_q": longest, "max_length_k": longest}
        return batch

    def _entries(self) -> int | None:
        """A fixed length of cu_seqlens: sequences, those of padding, and the zero at its beginning."""
        if self.max_sequences is None:
            return None
        largest = 0 if self.ladder is None else max((rung.high for rung in self.ladder), default=0)
        of_padding = 1 if self.max_length is None else -(-largest // self.max_length)
        return self.max_sequences + of_padding + 1


class CompileScopeCallback(TrainerCallback):
    """Marks the Trainer's steps, and records what it logs as results that ``compilescope verify`` compares.

    ``checks`` are the names of logged values that count as results; values that depend on the clock do not.
    Costs nothing where nothing records.
    """

    def __init__(self, checks: Sequence[str] = ("loss", "grad_norm", "eval_loss")) -> None:
        self._checks = tuple(checks)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        compilescope.step()

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        logs: Mapping[str, Any] = kwargs.get("logs") or {}
        for name in self._checks:
            if name in logs:
                compilescope.check(name, logs[name])


def _labels(sample: Mapping[str, Any], tokens: torch.Tensor) -> torch.Tensor:
    given = sample.get("labels")
    labels = tokens.clone() if given is None else torch.as_tensor(given, dtype=torch.int64).clone()
    labels[:1] = IGNORE_INDEX
    return labels
