"""Means over real rows: a mean of the padded tensor would count the padding."""

from __future__ import annotations

import torch


def masked_mean(
    values: torch.Tensor, mask: torch.Tensor, dim: int | tuple[int, ...] | None = None
) -> torch.Tensor:
    """The mean of ``values`` where ``mask`` (boolean, broadcast against it) is True.

    Over ``dim``, or everything. Nan where the mask is False everywhere, as the mean of nothing is. What is
    masked out may be infinite or nan: neither the mean nor its gradient sees it.
    """
    mask = mask.bool().expand_as(values) if mask.dim() == values.dim() else _widened(mask, values)
    kept = torch.where(mask, values, torch.zeros((), dtype=values.dtype, device=values.device))
    if dim is None:
        return kept.sum() / mask.sum()
    return kept.sum(dim) / mask.sum(dim)


def real_rows(lengths: torch.Tensor, size: int) -> torch.Tensor:
    """Boolean ``(batch, size)``: True in the first ``lengths[i]`` places of row i."""
    return torch.arange(size, device=lengths.device)[None, :] < lengths[:, None]


def _widened(mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """A mask of the leading dimensions, e.g. (batch, tokens) for values (batch, tokens, features)."""
    shape = [*mask.shape, *[1] * (values.dim() - mask.dim())]
    return mask.bool().reshape(shape).expand_as(values)
