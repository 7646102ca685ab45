"""Small models of many kinds on the CPU, forward and backward, for comparing the two sources of kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch._dynamo
import torch.nn.functional as F


def encoder() -> None:
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
    torch.compile(torch.nn.TransformerEncoder(layer, 2))(torch.randn(2, 8, 32)).sum().backward()


def convolutions() -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
    )
    torch.compile(model)(torch.randn(2, 3, 12, 12)).sum().backward()


def embedding() -> None:
    table = torch.nn.Embedding(50, 16)

    def model(ids: torch.Tensor) -> torch.Tensor:
        x = table(ids)
        return F.cross_entropy(x.flatten(0, 1), ids.flatten() % 16)

    torch.compile(model)(torch.randint(0, 50, (2, 5))).backward()


def sorting() -> None:
    def model(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, order = torch.topk(x, 3)
        return values, order, x.scatter_add(1, i, x), torch.cumsum(x, 1).argmax(1), x.unfold(1, 2, 1).sum(-1)

    torch.compile(model)(torch.randn(4, 8), torch.randint(0, 8, (4, 8)))


def branches() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: (y @ y).relu(), lambda y: y * 2, (x,))

    torch.compile(model)(torch.randn(4, 4))


def dynamic() -> None:
    compiled = torch.compile(
        lambda x, w: F.layer_norm(torch.baddbmm(x, x, w), (8,)).split(4, -1), dynamic=True
    )
    compiled(torch.randn(3, 8, 8), torch.randn(3, 8, 8))


def spectrum() -> None:
    torch.compile(lambda x: torch.fft.rfft(x).abs() + x.var())(torch.randn(4, 8))


def optimizer() -> None:
    parameters = [torch.nn.Parameter(torch.randn(4, 4)) for _ in range(3)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    torch.compile(torch.optim.SGD(parameters, lr=0.1, momentum=0.9, foreach=True).step)()


def mutation() -> None:
    def model(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        out.copy_(x.sin())
        out[0] += 1
        return x.view(-1).bernoulli() + torch.linalg.inv(x @ x.T + torch.eye(4)).sum()

    with torch.no_grad():
        torch.compile(model)(torch.randn(4, 4), torch.zeros(4, 4))


PARTS: tuple[Callable[[], None], ...] = (
    encoder,
    convolutions,
    embedding,
    sorting,
    branches,
    dynamic,
    spectrum,
    optimizer,
    mutation,
)

if __name__ == "__main__":
    for part in PARTS:
        torch._dynamo.reset()
        part()
        print(part.__name__, "ok", flush=True)
