"""Two linear layers with max-autotune at six sizes, then with free ones: tuned at 16, used at 777."""

from __future__ import annotations

import torch
import torch._dynamo
import torch.nn.functional as F

SIZES = (1, 16, 64, 256, 1024, 4096)
MODE = "max-autotune-no-cudagraphs"

FIRST = torch.nn.Linear(1024, 4096, device="cuda", dtype=torch.bfloat16)
SECOND = torch.nn.Linear(4096, 1024, device="cuda", dtype=torch.bfloat16)


def mlp(x: torch.Tensor) -> torch.Tensor:
    y = F.gelu(FIRST(x))
    return SECOND(y)


def tokens(n: int) -> torch.Tensor:
    return torch.randn(n, 1024, device="cuda", dtype=torch.bfloat16)


@torch.no_grad()
def main() -> None:
    for n in SIZES:
        torch._dynamo.reset()
        compiled = torch.compile(mlp, mode=MODE, dynamic=False)
        for _ in range(2):
            compiled(tokens(n))
    torch._dynamo.reset()
    compiled = torch.compile(mlp, mode=MODE, dynamic=True)
    for n in (16, 777, 777, 777):
        compiled(tokens(n))


if __name__ == "__main__":
    main()
