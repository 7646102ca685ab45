"""A ladder of two pins and a range over a linear layer, each rung tuned for itself on the CPU."""

from __future__ import annotations

import torch
import torch._inductor.config

from compilescope import BucketLadder
from compilescope.bucketing import bucketed

LAYER = torch.nn.Linear(256, 128).eval()


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(LAYER(x))


if __name__ == "__main__":
    ladder = BucketLadder.pins([8, 512]) | BucketLadder.range(9, 4096, hint=16)
    model = bucketed(step, ladder, dims={"x": {0: "rows"}})
    with torch.no_grad(), torch._inductor.config.patch(max_autotune=True, freezing=True):
        model.warm_up(torch.randn(8, 256))
        for rows in (8, 8, 512, 900, 900, 900, 40):
            model(torch.randn(rows, 256))
