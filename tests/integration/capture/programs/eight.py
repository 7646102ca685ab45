"""Eight programs that use torch.compile in different ways. Each returns the tensors it computed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Result = list[Any]
BACKEND = "aot_eager"


def mlp_training() -> Result:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model, backend="inductor")
    losses = []
    for _ in range(4):
        loss = F.mse_loss(compiled(torch.randn(5, 8)), torch.randn(5, 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *model.parameters(), *(p.grad for p in model.parameters())]


def conv_net() -> Result:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    out = [compiled(x)]
    out[0].sum().backward()
    model.eval()
    with torch.no_grad():
        out.append(compiled(x))
    return [*out, x.grad, *model.buffers()]


def dynamic_shapes() -> Result:
    @torch.compile(backend=BACKEND)  # type: ignore[untyped-decorator]
    def normalize(x: torch.Tensor, scale: float) -> torch.Tensor:
        return (x - x.mean(0)) * scale / x.shape[0]

    out = [normalize(torch.randn(n, 3), 0.5) for n in (4, 5, 7, 9, 5)]
    marked = torch.randn(6, 3)
    torch._dynamo.mark_dynamic(marked, 0)
    return [*out, normalize(marked, 2.0)]


def graph_breaks() -> Result:
    seen = []

    def helper(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        seen.append(float(y.sum()))
        torch._dynamo.graph_break()
        return y + 1

    @torch.compile(backend=BACKEND)  # type: ignore[untyped-decorator]
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        if y.sum() > 0:
            y = helper(y)
        try:
            torch._dynamo.graph_break()
        finally:
            y = y + 1
        return y.cos()

    out = [run(torch.randn(4).abs()), run(-torch.randn(4).abs())]
    return [*out, torch.tensor(seen)]


def recompile_limit() -> Result:
    class Counts(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.step = 0

        def forward(self, x: torch.Tensor, scale: int) -> torch.Tensor:
            self.step += 1
            return x * scale + self.step

    @torch.compile(backend="eager", dynamic=False)  # type: ignore[untyped-decorator]
    def scaled(x: torch.Tensor, scale: int) -> torch.Tensor:
        return x * scale

    counts = torch.compile(Counts(), backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=3):
        return [f(torch.ones(2), n) for n in range(8) for f in (scaled, counts)]


class _Clamped(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.clamp(0)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * (x > 0)


def autograd_function_and_hooks() -> Result:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    sums: list[torch.Tensor] = []
    model[0].register_forward_hook(lambda _m, _i, out: out * 2)
    model[1].register_forward_pre_hook(lambda _m, args: (args[0] + 1,))

    @torch.compile(backend=BACKEND)  # type: ignore[untyped-decorator]
    def run(x: torch.Tensor) -> torch.Tensor:
        return _Clamped.apply(model(x)).sum()

    x = torch.randn(3, 4, requires_grad=True)
    x.register_hook(lambda grad: sums.append(grad.sum()))
    for _ in range(2):
        run(x).backward()
    return [x.grad, *sums, *(p.grad for p in model.parameters())]


def compiled_optimizer_and_autograd() -> Result:
    weights = [nn.Parameter(torch.randn(3, 3)) for _ in range(2)]
    optimizer = torch.optim.AdamW(weights, lr=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    step = torch.compile(optimizer.step, backend="eager")

    def loss() -> torch.Tensor:
        return sum((w @ w.T).sin().sum() for w in weights)

    compiled_loss = torch.compile(loss, backend=BACKEND)
    for _ in range(3):
        optimizer.zero_grad()
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            compiled_loss().backward()
        step()
        scheduler.step()
    return [*weights, *(w.grad for w in weights)]


def dropout_in_threads() -> Result:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    compiled = torch.compile(model, backend=BACKEND)
    out = [compiled(torch.ones(3, 4)) for _ in range(3)]

    @torch.compile(backend=BACKEND)  # type: ignore[untyped-decorator]
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)

    results: dict[int, torch.Tensor] = {}

    def work(n: int) -> None:
        results[n] = noisy(torch.full((n,), 1.0))

    for n in (2, 3):  # one at a time: the order of random numbers is part of the result
        thread = threading.Thread(target=work, args=(n,), name=f"worker-{n}")
        thread.start()
        thread.join()
    return [*out, *results.values()]


PROGRAMS: dict[str, Callable[[], Result]] = {
    program.__name__: program
    for program in (
        mlp_training,
        conv_net,
        dynamic_shapes,
        graph_breaks,
        recompile_limit,
        autograd_function_and_hooks,
        compiled_optimizer_and_autograd,
        dropout_in_threads,
    )
}
