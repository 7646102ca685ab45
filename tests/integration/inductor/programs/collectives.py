"""One rank of two: an all-reduce and an all-gather inside a compiled graph, between pointwise operations."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def reduced(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y = functional.all_reduce(y, "sum", dist.group.WORLD)
    return y + 1


def gathered(x: torch.Tensor) -> torch.Tensor:
    y = functional.all_gather_tensor(x + 1, 0, dist.group.WORLD)
    return y * 3


if __name__ == "__main__":
    store = dist.FileStore(sys.argv[1], 2)
    dist.init_process_group("gloo", store=store, rank=int(os.environ["RANK"]), world_size=2)
    with torch.no_grad():
        print(torch.compile(reduced)(torch.ones(1000)).sum().item())
        print(torch.compile(gathered)(torch.ones(250)).sum().item())
    dist.destroy_process_group()
