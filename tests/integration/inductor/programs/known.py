"""Small programs on the CPU whose kernels, bytes and saved tensors are known by construction."""

from __future__ import annotations

import sys

import torch
import torch._dynamo

torch._dynamo.config.automatic_dynamic_shapes = False


@torch.library.custom_op("compilescope_known::plus_one", mutates_args=())
def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@plus_one.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def chain(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y = y + 1
    return y.relu()


def epilogue(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x @ w
    return torch.relu(y) + 1


def opaque(x: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
    counter.add_(1)
    return plus_one(x * 3)


def trained(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).sin().sum()


def main() -> None:
    w = torch.randn(16, 4, requires_grad=True)
    with torch.no_grad():
        torch.compile(chain)(torch.randn(1000))
        torch.compile(chain)(torch.randn(1001))
        torch.compile(epilogue)(torch.randn(8, 16), torch.randn(16, 4))
        torch.compile(opaque)(torch.randn(100), torch.zeros(1))
    torch.compile(trained)(torch.randn(8, 16), w).backward()


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        torch._dynamo.reset()
        main()
