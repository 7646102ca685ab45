"""Operators of the tests' own that no recording could hold."""

from __future__ import annotations

import torch


@torch.library.custom_op("compilescope_graphs::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    """Reads on the host."""
    return x * x.abs().max().item()


@scaled.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("compilescope_graphs::attend", mutates_args=("out",))
def attend(q: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(q.softmax(-1) + out)


@torch.library.custom_op("compilescope_graphs::counted", mutates_args=("calls",))
def counted(x: torch.Tensor, calls: torch.Tensor) -> torch.Tensor:
    calls.add_(1)
    return x + 1


@counted.register_fake
def _(x: torch.Tensor, calls: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
