"""A small language model, trained for a few steps, with four faults people really make.

It runs and learns. torch.compile helps far less than it could, and nothing says so.
"""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, WIDTH = 512, 64


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        return x + self.mix(h) * torch.sigmoid(self.gate(h))


class Model(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block(WIDTH) for _ in range(depth))
        self.head = nn.Linear(WIDTH, VOCAB)
        self.steps = 0

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        x = self.embed(tokens)
        if self.steps > 2:
            x = x * 0.99
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@torch.compile
def loss_fn(logits: torch.Tensor, targets: torch.Tensor, seen: list[float]) -> torch.Tensor:
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    seen.append(loss.item())
    return loss * (1 + 0.0 * len(seen))


def main() -> None:
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    seen: list[float] = []
    for step in range(14):
        length = (24, 24, 32, 17)[step % 4]
        tokens = torch.randint(VOCAB, (4, length))
        loss = loss_fn(compiled(tokens[:, :-1]), tokens[:, 1:], seen)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {seen[-1]:.3f}")


if __name__ == "__main__":
    main()
