"""Padding that waits for its target: rows go straight into a static buffer, without a padded copy between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


class DeferredPad:
    """``tensor`` made longer at the end of one dimension, as ``torch.nn.functional.pad`` would."""

    __slots__ = ("amounts", "tensor", "value")

    def __init__(self, tensor: torch.Tensor, amounts: Sequence[int], value: float) -> None:
        self.tensor, self.amounts, self.value = tensor, tuple(amounts), value

    def copy_to(self, target: torch.Tensor) -> None:
        """``target`` has the padded shape."""
        dim = self.tensor.dim() - len(self.amounts) // 2
        rows, more = self.tensor.shape[dim], self.amounts[-1]
        target.narrow(dim, 0, rows).copy_(self.tensor)
        target.narrow(dim, rows, more).fill_(self.value)

    def made(self) -> torch.Tensor:
        return torch.nn.functional.pad(self.tensor, self.amounts, value=self.value)


def made(value: Any) -> Any:
    """The tensor a deferred pad stands for; anything else as it is."""
    return value.made() if isinstance(value, DeferredPad) else value


def deferred_pad(tensor: Any, amounts: Sequence[int], value: float = 0) -> DeferredPad | torch.Tensor:
    """Takes what ``torch.nn.functional.pad`` takes. Only the last of several dimensions can wait."""
    tensor = made(tensor)
    if any(amounts[:-1]) or len(amounts) % 2:
        return torch.nn.functional.pad(tensor, tuple(amounts), value=value)
    return DeferredPad(tensor, amounts, value)
