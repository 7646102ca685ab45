"""What the tests split: attention blocks, and programs in which every other operator may be split at."""

from __future__ import annotations

import torch

WIDTH = 8


class Block(torch.nn.Module):
    """Over (batch, length, 8), two heads, causal."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.think = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 2, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.think(x.relu())


class Net(torch.nn.Module):
    def __init__(self, blocks: int = 4) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block() for _ in range(blocks)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x * (x.shape[1] / 4)
