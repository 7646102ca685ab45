"""The same linear layer tuned for 8 rows with free sizes, then for 512 rows alone; used at 500."""

from __future__ import annotations

import torch
import torch._dynamo
import torch._inductor.config

LAYER = torch.nn.Linear(256, 128).eval()


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(LAYER(x))


if __name__ == "__main__":
    with torch.no_grad(), torch._inductor.config.patch(max_autotune=True, freezing=True):
        free = torch.compile(step, dynamic=True)
        for rows in (8, 500, 500, 500):
            free(torch.randn(rows, 256))
        torch._dynamo.reset()
        torch.compile(step, dynamic=False)(torch.randn(512, 256))
