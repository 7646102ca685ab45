"""reduce-overhead: a mutated input that is skipped, and sizes that drift: a recording for each."""

from __future__ import annotations

import torch
import torch._dynamo

WEIGHT = torch.randn(512, 512, device="cuda")
SIZES = (8, 16, 24, 32)


def mutating(x: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
    counter.add_(1)
    return torch.relu(x @ WEIGHT)


def drifting(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ WEIGHT) + 1


def pool_bytes() -> int:
    segments = torch.cuda.memory_snapshot()
    return sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) != (0, 0))


@torch.no_grad()
def main() -> None:
    counter = torch.zeros(4, device="cuda")
    skipped = torch.compile(mutating, mode="reduce-overhead")
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        skipped(torch.randn(8, 512, device="cuda"), counter)
    torch._dynamo.reset()
    compiled = torch.compile(drifting, mode="reduce-overhead")
    for n in SIZES:
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            compiled(torch.randn(n, 512, device="cuda"))
    print("POOL", pool_bytes())


if __name__ == "__main__":
    main()
