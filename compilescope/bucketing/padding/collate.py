"""Collate functions that pad batches to the sizes of a ladder before the model sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from compilescope.bucketing.padding.packed import IGNORE_INDEX, pad_to
from compilescope.ladder import BucketLadder

Sample = Mapping[str, torch.Tensor]
Batch = dict[str, torch.Tensor]

DEFAULT_VALUES: Mapping[str, float] = {"labels": IGNORE_INDEX}


def fitting_size(ladder: BucketLadder | None, size: int) -> int:
    """The smallest rung that holds ``size``; ``size`` itself above them all, or without a ladder."""
    fitting = None if ladder is None else ladder.fitting(size)
    return size if fitting is None else fitting


def pad_collate(
    ladder: BucketLadder | None,
    *,
    values: Mapping[str, float] = DEFAULT_VALUES,
    mask: str | None = "attention_mask",
    batch: BucketLadder | None = None,
) -> Callable[[Sequence[Sample]], Batch]:
    """A ``collate_fn``: samples are padded at their end to one length of ``ladder``, and stacked.

    Each sample maps names to tensors whose first dimension is its length; other tensors (no dimension) are
    stacked as they are. ``values`` are what a name is padded with, 0 where it has none. ``mask``, unless None
    or there already, is added: int64 ``(batch, length)``, 1 for real rows. With ``batch`` the number of
    samples is padded too, by samples of padding alone.
    """

    def collate(samples: Sequence[Sample]) -> Batch:
        lengths = [_length(sample) for sample in samples]
        size = fitting_size(ladder, max(lengths))
        count = fitting_size(batch, len(samples))
        made: Batch = {}
        for name in samples[0]:
            value = values.get(name, 0)
            rows = [_padded(sample[name], size, value) for sample in samples]
            made[name] = pad_to(torch.stack(rows), count, 0, value)
        if mask is not None and mask not in made:
            real = torch.zeros(count, size, dtype=torch.int64)
            for row, length in enumerate(lengths):
                real[row, :length] = 1
            made[mask] = real
        return made

    return collate


def _length(sample: Sample) -> int:
    return max((each.shape[0] for each in sample.values() if each.dim()), default=0)


def _padded(tensor: torch.Tensor, size: int, value: float) -> torch.Tensor:
    return pad_to(tensor, size, 0, value) if tensor.dim() else tensor
