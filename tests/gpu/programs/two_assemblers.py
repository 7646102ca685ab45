"""A layer with max-autotune: compile workers and process have a ``ptxas`` each, if torch brings one."""

from __future__ import annotations

import torch

LAYER = torch.nn.Linear(1024, 4096, device="cuda", dtype=torch.bfloat16)


@torch.compile(mode="max-autotune-no-cudagraphs", dynamic=False)
def layer(x: torch.Tensor) -> torch.Tensor:
    return LAYER(x).relu()


@torch.no_grad()
def main() -> None:
    for _ in range(3):
        layer(torch.ones(256, 1024, device="cuda", dtype=torch.bfloat16))


if __name__ == "__main__":
    # Candidates go to the workers once these have started, as in a program that has compiled for a while.
    from torch._inductor.async_compile import AsyncCompile

    AsyncCompile.wait_pool_ready()
    main()
