"""Packed sequences: several sequences one behind the other in one row, told apart by where each begins.

A packed batch is padded by one more sequence, which no loss counts and which sees no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from compilescope.errors import UsageError

IGNORE_INDEX = -100
"""The label that ``torch.nn.functional.cross_entropy`` leaves out of its sum and its mean."""


def cumulative_lengths(lengths: Sequence[int] | torch.Tensor) -> torch.Tensor:
    """``cu_seqlens`` of ``lengths``: int32, one entry more than sequences, from 0 to the number of tokens."""
    counts = torch.as_tensor(lengths, dtype=torch.int32)
    return torch.nn.functional.pad(counts.cumsum(0, dtype=torch.int32), (1, 0))


def pad_cumulative_lengths(
    cu_seqlens: torch.Tensor, size: int, entries: int | None = None, longest: int | None = None
) -> torch.Tensor:
    """``cu_seqlens`` with dummy sequences up to ``size`` tokens, then empty ones up to ``entries`` entries.

    One dummy sequence, or several of at most ``longest`` tokens: attention in a long one costs its square. A
    fixed number of ``entries`` keeps the number of sequences out of the compiled shapes. Raises UsageError
    where there are more tokens than ``size``, or more sequences than fit.
    """
    total = int(cu_seqlens[-1])
    if total > size:
        raise UsageError(f"{total} tokens do not fit into {size}")
    ends = [*range(total, size, longest or size)][1:] + [size] * (total < size)
    missing = 0 if entries is None else entries - cu_seqlens.numel() - len(ends)
    if missing < 0:
        raise UsageError(
            f"{cu_seqlens.numel() - 1} sequences and {len(ends)} of padding do not fit into {entries} entries"
        )
    return torch.cat([cu_seqlens, cu_seqlens.new_tensor(ends + [size] * missing)])


def packed_position_ids(cu_seqlens: torch.Tensor) -> torch.Tensor:
    """The place of each token in its own sequence: int64, as many as ``cu_seqlens`` ends with."""
    return torch.arange(int(cu_seqlens[-1]), device=cu_seqlens.device) - _starts(cu_seqlens)


def packed_sequence_ids(cu_seqlens: torch.Tensor) -> torch.Tensor:
    """The number of each token's sequence, from 0: int32."""
    lengths = cu_seqlens.diff()
    numbers = torch.arange(lengths.numel(), dtype=torch.int32, device=cu_seqlens.device)
    return numbers.repeat_interleave(lengths)


def packed_causal_mask(sequence_ids: torch.Tensor) -> torch.Tensor:
    """Boolean ``(tokens, tokens)``: True where a query may see a key, earlier in its own sequence."""
    places = torch.arange(sequence_ids.numel(), device=sequence_ids.device)
    return (sequence_ids[:, None] == sequence_ids[None, :]) & (places[:, None] >= places[None, :])


def pad_to(tensor: torch.Tensor, size: int, dim: int = 0, value: float = 0) -> torch.Tensor:
    """``tensor`` with ``size`` entries along ``dim``, new ones at its end. Raises UsageError if longer."""
    missing = size - tensor.shape[dim]
    if missing < 0:
        raise UsageError(f"{tensor.shape[dim]} entries along dimension {dim} do not fit into {size}")
    behind = tensor.dim() - 1 - dim % tensor.dim()
    return torch.nn.functional.pad(tensor, [0, 0] * behind + [0, missing], value=value)


def _starts(cu_seqlens: torch.Tensor) -> torch.Tensor:
    return cu_seqlens[:-1].long().repeat_interleave(cu_seqlens.diff())
