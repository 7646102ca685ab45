"""A program for a GPU whose kernels are known: GEMMs, convolution, attention, foreach, CUDA graphs."""

from __future__ import annotations

import torch
import torch._dynamo
import torch.nn.functional as F

MODEL = {"device": "cuda", "dtype": torch.bfloat16}


@torch.library.custom_op("compilescope_gpu::plus_one", mutates_args=())
def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@plus_one.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def training_step() -> None:
    """Peak memory of the backward is printed: what the plan says can be compared."""
    first = torch.nn.Linear(512, 2048).to(**MODEL)
    second = torch.nn.Linear(2048, 512).to(**MODEL)

    def model(x: torch.Tensor) -> torch.Tensor:
        return second(F.gelu(first(x))).softmax(-1).float().pow(2).sum()

    compiled = torch.compile(model)
    for _ in range(2):
        compiled(torch.randn(256, 512, **MODEL)).backward()


def chain() -> None:
    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x @ w)
        return (y * 2 + 1).sum(-1)

    x, w = torch.randn(4096, 1024, **MODEL), torch.randn(1024, 4096, **MODEL)
    compiled = torch.compile(model)
    with torch.no_grad():
        compiled(x, w)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        compiled(x, w)
        print("PEAK chain", torch.cuda.max_memory_allocated() - before)


def mixed() -> None:
    conv = torch.nn.Conv2d(8, 16, 3, padding=1, device="cuda")

    def model(x: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = F.relu(conv(x)).mean((2, 3))
        z = F.scaled_dot_product_attention(q, q, q, is_causal=True) * 2
        values, _ = torch.sort(y.sum(0))
        return y, plus_one(z) + 1, values.cumsum(0), torch.cat([y.cos(), y.sin()])

    with torch.no_grad():
        torch.compile(model)(torch.randn(4, 8, 32, 32, device="cuda"), torch.randn(2, 8, 128, 64, **MODEL))


def optimizer() -> None:
    parameters = [torch.nn.Parameter(torch.randn(64, 64, device="cuda")) for _ in range(4)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    torch.compile(torch.optim.AdamW(parameters, foreach=True).step)()


def max_autotune() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU()).to(**MODEL).eval()
    with torch.no_grad():
        for tokens in (16, 2048):
            torch._dynamo.reset()
            compiled = torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=False)
            compiled(torch.randn(tokens, 1024, **MODEL))


def cuda_graphs() -> None:
    weight = torch.randn(64, 64, device="cuda")
    compiled = torch.compile(lambda x: torch.relu(x @ weight) + 1, mode="reduce-overhead")
    with torch.no_grad():
        for tokens in (8, 16, 24, 32):
            for _ in range(3):
                torch.compiler.cudagraph_mark_step_begin()
                compiled(torch.randn(tokens, 64, device="cuda"))


def device_copy() -> None:
    torch.compile(lambda x: (x @ x.T).cpu() + 1)(torch.randn(64, 64, device="cuda"))


if __name__ == "__main__":
    for part in (training_step, chain, mixed, optimizer, cuda_graphs, device_copy, max_autotune):
        torch._dynamo.reset()
        part()
        print(part.__name__, "ok", flush=True)
