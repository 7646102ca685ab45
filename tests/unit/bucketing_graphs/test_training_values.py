"""What a trained graph may take, save and return: layouts, aliases, dtypes, values that are no tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from .twins import ROWS, Twins


class Function(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.w = torch.nn.Parameter(torch.randn(8, 8) / 3)
        self.b = torch.nn.Parameter(torch.randn(8))
        self.frozen = torch.nn.Parameter(torch.randn(8, 8), requires_grad=False)
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, self)


def writes_a_buffer(x: torch.Tensor, m: Any) -> Any:
    y = x @ m.w
    m.seen.mul_(0.5).add_(y.detach().mean(0))
    return y * m.seen


def writes_a_buffer_and_returns_it(x: torch.Tensor, m: Any) -> Any:
    m.seen.add_(1)
    return x @ m.w, m.seen


def writes_an_activation(x: torch.Tensor, m: Any) -> Any:
    y = x @ m.w
    y[:, 0] = 1
    y.mul_(m.b)
    return y, y[:, 2:]


def overlapping_chunks(x: torch.Tensor, m: Any) -> Any:
    y = x @ m.w
    return (*y.chunk(2, 1), *y.unbind(1)[:2])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x**3 @ w

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        return gradient @ w.t() * 3 * x**2, (x**3).t() @ gradient


class HandsBackWhatItSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y.sum()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return ctx.saved_tensors[0]


FUNCTIONS: dict[str, Any] = {
    "linear": lambda x, m: x @ m.w + m.b,
    "relu": lambda x, m: (x @ m.w).relu(),
    "softmax": lambda x, m: (x @ m.w).softmax(-1),
    "returned twice": lambda x, m: (y := (x @ m.w).exp(), y),
    "saved, returned and a view of it": lambda x, m: (y := (x @ m.w).exp(), y[:, 1:], y.t()),
    "views of each other": lambda x, m: (y := x @ m.w, y.view(-1), y[0]),
    "only views of an intermediate": lambda x, m: (y := (x @ m.w).sin(), y.t())[1],
    "a part": lambda x, m: (x @ m.w)[:, 2:6],
    "every other": lambda x, m: (x @ m.w)[:, ::2],
    "chunks": lambda x, m: (x @ m.w).chunk(2, 1),
    "overlapping chunks": overlapping_chunks,
    "the input": lambda x, m: (x, x @ m.w),
    "a view of the input": lambda x, m: (x.view(-1), x @ m.w, x[:, 1:]),
    "the input detached": lambda x, m: (x.detach(), x @ m.w),
    "a parameter": lambda x, m: (m.w, x @ m.w),
    "a view of a parameter": lambda x, m: (m.w.t(), x @ m.w),
    "a detached parameter": lambda x, m: (m.w.detach(), x @ m.w),
    "int outputs": lambda x, m: (y := x @ m.w, y.argmax(1), (y > 0), y.shape[0], 3),
    "no tensor among others": lambda x, m: {"y": x @ m.w, "none": None, "n": x.shape[0]},
    "broadcast": lambda x, m: (x @ m.w).sum(1, keepdim=True).expand(-1, 8),
    "broadcast to nothing but one number": lambda x, m: (x @ m.w).sum().expand(4, 4),
    "scalar": lambda x, m: (x @ m.w).mean(),
    "transposed": lambda x, m: (x @ m.w).t(),
    "saves its input": lambda x, m: x * x * m.b,
    "saves views of its input": lambda x, m: x[:, :4] * x[:, 4:] @ m.w[:4],
    "saves a view of a parameter": lambda x, m: x * m.w.t()[0],
    "saves nothing": lambda x, m: x + m.b,
    "saves nothing of its own": lambda x, m: x * m.b,
    "gradient is the tangent": lambda x, m: (x + 0, x + m.b),
    "gradient is a view of the tangent": lambda x, m: (x + m.b).t(),
    "frozen parameter": lambda x, m: x @ m.frozen @ m.w,
    "complex": lambda x, m: torch.view_as_real((torch.complex(x, x * 2) @ m.w.to(torch.complex64)).exp()),
    "complex saved as real": lambda x, m: (torch.complex(x, m.b.expand_as(x)).conj() * x).abs(),
    "double": lambda x, m: (x.double() @ m.w.double()).exp(),
    "half": lambda x, m: (x.bfloat16() * m.b.bfloat16()).float(),
    "views as integers": lambda x, m: x * (x.view(torch.int32) > 0) * m.b,
    "constant": lambda x, m: x * torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8]) * m.b,
    "arange saved": lambda x, m: (x * torch.arange(8, device=x.device)) @ m.w * m.b,
    "zero elements inside": lambda x, m: torch.cat([x[:, :0] * m.b[:0], x * m.b], 1),
    "zero elements outside": lambda x, m: ((x * m.b)[:, :0], x @ m.w),
    "gather": lambda x, m: m.w[(x[:, 0] * 3).long() % 8] * x,
    "channels last": lambda x, m: (x @ m.w).view(-1, 2, 2, 2).contiguous(memory_format=torch.channels_last),
    "writes a buffer": writes_a_buffer,
    "writes a buffer and returns it": writes_a_buffer_and_returns_it,
    "writes an activation": writes_an_activation,
    "custom function": lambda x, m: Cube.apply(x, m.w),
    "hands back what it saved": lambda x, m: HandsBackWhatItSaved.apply(x * m.b),
    "hands back what it was given": lambda x, m: HandsBackWhatItSaved.apply(x) + m.b,
    "weight normed": lambda x, m: x @ torch._weight_norm(m.w, m.b[:, None], 0),
    "embedding bag": lambda x, m: F.embedding((x > 0).long(), m.w).sum(1),
}
WITH_INPUTS_THAT_NEED_NONE = [
    "linear",
    "softmax",
    "the input",
    "saves its input",
    "saves views of its input",
    "gradient is the tangent",
    "writes a buffer",
    "hands back what it was given",
]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "inputs_require"),
    [*((name, True) for name in FUNCTIONS), *((name, False) for name in WITH_INPUTS_THAT_NEED_NONE)],
)
def test_step_by_step(graphed: Any, name: str, inputs_require: bool) -> None:
    twins = Twins(graphed, Function(FUNCTIONS[name]), ROWS)
    for size in (8, 4, 8, 4):
        twins.step(torch.randn(size, 8, requires_grad=inputs_require))
    twins.still_same()
    assert twins.replays() == (4, 4), str(twins.model.backend.graphs)
