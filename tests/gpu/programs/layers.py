"""Kinds by construction: cuDNN convolutions, FlashAttention, a custom op, a device copy, known bytes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

CONVOLUTIONS = (
    torch.nn.Sequential(
        torch.nn.Conv2d(8, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
    )
    .cuda()
    .eval()
)


@torch.library.custom_op("compilescope_gpu::plus_one", mutates_args=())
def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@plus_one.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def convolve(x: torch.Tensor) -> torch.Tensor:
    return CONVOLUTIONS(x).mean((2, 3))


def attend(q: torch.Tensor) -> torch.Tensor:
    z = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return z * 2


def opaque(x: torch.Tensor) -> torch.Tensor:
    y = plus_one(x * 3)
    return y + 1


def copied(x: torch.Tensor) -> torch.Tensor:
    y = (x * 2).cpu()
    return y + 1


def chain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x @ w)
    return (y * 2 + 1).sum(-1)


@torch.no_grad()
def main() -> None:
    bfloat16 = {"device": "cuda", "dtype": torch.bfloat16}
    torch.compile(convolve)(torch.randn(4, 8, 32, 32, device="cuda"))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        torch.compile(attend)(torch.randn(2, 8, 128, 64, **bfloat16))
    torch.compile(opaque)(torch.randn(256, device="cuda"))
    torch.compile(copied)(torch.randn(256, device="cuda"))
    torch.compile(chain)(torch.randn(4096, 1024, **bfloat16), torch.randn(1024, 4096, **bfloat16))


if __name__ == "__main__":
    main()
