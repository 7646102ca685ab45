"""Padding with a contract, and what pads batches so that a model gives the same results on them.

>>> model = bucketed(model, BucketLadder.pads([160, 256]), {"x": {0: "tokens"}}, pad=[Pad("x", 0, 0.0)])
"""

from __future__ import annotations

from compilescope.bucketing.padding.collate import fitting_size, pad_collate
from compilescope.bucketing.padding.contract import Pad, PaddingRefusedError
from compilescope.bucketing.padding.losses import masked_mean, real_rows
from compilescope.bucketing.padding.packed import (
    IGNORE_INDEX,
    cumulative_lengths,
    packed_causal_mask,
    packed_position_ids,
    packed_sequence_ids,
    pad_cumulative_lengths,
    pad_to,
)

__all__ = [
    "IGNORE_INDEX",
    "Pad",
    "PaddingRefusedError",
    "cumulative_lengths",
    "fitting_size",
    "masked_mean",
    "packed_causal_mask",
    "packed_position_ids",
    "packed_sequence_ids",
    "pad_collate",
    "pad_cumulative_lengths",
    "pad_to",
    "real_rows",
]
