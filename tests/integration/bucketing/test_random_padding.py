"""Random graphs, ladders, sizes and pad values: padded equals eager forward and backward, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungRefused

WIDTH = 6

Op = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

# Each takes and gives (tokens, 6); w is a weight (6, 6), m a boolean mask of the tokens, padded with False.
OPS: dict[str, Op] = {
    "tanh": lambda x, w, m: x.tanh(),
    "affine": lambda x, w, m: x * 0.5 + 1,
    "matmul": lambda x, w, m: x @ w,
    "softmax over features": lambda x, w, m: x.softmax(1),
    "softmax over rows": lambda x, w, m: x.softmax(0),
    "masked softmax over rows": lambda x, w, m: x.masked_fill(~m[:, None], float("-inf")).softmax(0),
    "minus mean over rows": lambda x, w, m: x - x.mean(0, keepdim=True),
    "minus masked mean": lambda x, w, m: x - (x * m[:, None]).sum(0) / (m.sum() + 1),
    "plus sum over rows": lambda x, w, m: x + x.sum(0, keepdim=True).tanh(),
    "plus largest row": lambda x, w, m: x + torch.where(m[:, None], x, -torch.inf).amax(0).clamp(-9, 9),
    "times row sum": lambda x, w, m: x * x.sum(1, keepdim=True).sigmoid(),
    "size in arithmetic": lambda x, w, m: x * (x.shape[0] / 64),
    "transpose twice": lambda x, w, m: x.t().contiguous().t() + 0,
    "flatten and back": lambda x, w, m: x.reshape(-1).reshape(x.shape[0], WIDTH) * 1,
    "split heads": lambda x, w, m: x.view(-1, 2, 3).transpose(0, 1).relu().transpose(0, 1).reshape(-1, WIDTH),
    "cat and halve": lambda x, w, m: torch.cat([x, x * 2])[: x.shape[0]],
    "a row in front": lambda x, w, m: torch.cat([w[:1], x])[1:] * torch.cat([w[:1], x])[:-1],
    "shift down": lambda x, w, m: torch.nn.functional.pad(x, (0, 0, 1, 0))[:-1] + x,
    "shift up": lambda x, w, m: torch.nn.functional.pad(x, (0, 0, 0, 1))[1:] + x,
    "cat columns": lambda x, w, m: torch.cat([x[:, 4:], x[:, :4]], 1),
    "flip": lambda x, w, m: x.flip(0),
    "cumsum": lambda x, w, m: x.cumsum(0).tanh(),
    "gram": lambda x, w, m: ((x @ x.t()).sigmoid() @ x).tanh(),
    "masked gram": lambda x, w, m: ((x @ x.t()).sigmoid() * m @ x).tanh(),
    "causal": lambda x, w, m: torch.nn.functional.scaled_dot_product_attention(
        x[None], x[None], x[None], is_causal=True
    )[0],
    "by place": lambda x, w, m: x + torch.arange(x.shape[0])[:, None] / 50,
    "first row": lambda x, w, m: x * x[0].sigmoid(),
    "last row": lambda x, w, m: x * x[-1].sigmoid(),
}


@dataclass(frozen=True)
class Program:
    ops: tuple[str, ...]

    def __call__(self, x: torch.Tensor, w: torch.Tensor, m: torch.Tensor) -> Any:
        for name in self.ops:
            x = OPS[name](x, w, m)
        return x, (x * m[:, None]).sum(0)


programs = st.lists(st.sampled_from(sorted(OPS)), min_size=1, max_size=4).map(tuple).map(Program)
sizes = st.integers(2, 24)
calls = st.lists(sizes, min_size=1, max_size=4)
ladders = st.sets(st.integers(2, 24), min_size=1, max_size=3)
values = st.sampled_from([0.0, 0.5, -3.0])
quick = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


def agree(
    inner: str, program: Program, pads: set[int], calls: list[int], value: float, grad: bool, batch: bool
) -> Any:
    torch._dynamo.reset()
    weight = (torch.randn(WIDTH, WIDTH) / 3).requires_grad_(grad)
    function = over_batch(program) if batch else program
    dim = 1 if batch else 0
    model = bucketed(
        lambda x, w, m: function(x, w, m),
        BucketLadder.pads(pads),
        {"x": {dim: "n"}, "m": {0: "n"}},
        inner=inner,
        pad=[Pad("x", dim, value), Pad("m", 0, False)],
    )
    for number, size in enumerate(calls):
        results = []
        for called in (function, model):
            torch.manual_seed(number)
            x = torch.randn((2, size, WIDTH) if batch else (size, WIDTH), requires_grad=grad)
            mask = torch.rand(size) > 0.3
            mask[0] = True
            weight.grad = None
            outputs = called(x, weight, mask)
            if grad:
                ramps = [torch.linspace(-1, 1, o.numel()).view(o.shape) for o in outputs]
                sum((o * ramp).sum() for o, ramp in zip(outputs, ramps, strict=True)).backward()
            results.append([*outputs, x.grad, weight.grad])
        for actual, expected in zip(results[1], results[0], strict=True):
            assert (actual is None) == (expected is None)
            if expected is not None:
                assert actual.shape == expected.shape
                scale = max(1.0, expected.detach().abs().max().item())
                torch.testing.assert_close(actual, expected, rtol=3e-4, atol=3e-4 * scale)
        assert results[1][0].stride() == results[0][0].stride()
    return model


def over_batch(program: Program) -> Callable[..., Any]:
    """The program on both rows of (2, tokens, 6), as if its dimension were folded into another."""

    def run(x: torch.Tensor, w: torch.Tensor, m: torch.Tensor) -> Any:
        both = [program(x[row], w, m) for row in range(2)]
        y = torch.stack([each[0] for each in both])
        return y.reshape(-1, WIDTH) @ w, sum(each[1] for each in both)

    return run


@quick
@given(programs, ladders, calls, values, st.booleans(), st.booleans())
def test_random_padded_graphs_equal_eager_or_are_refused(
    program: Program, pads: set[int], calls: list[int], value: float, grad: bool, batch: bool
) -> None:
    model = agree("aot_eager", program, pads, calls, value, grad, batch)
    counts = model.backend.dispatch_counts()
    assert sum(count.count for count in counts) == len(calls)
    refused = [event for event in model.backend.events() if isinstance(event, RungRefused)]
    assert all(event.reason for event in refused)
    if not refused:
        served = {c.sizes[0]: c.outcome for c in counts if c.count}
        for size in calls:
            fits = [pad for pad in pads if pad >= size]
            assert served[size] == ("dynamic" if not fits else "exact" if size in pads else "padded")


@pytest.mark.parametrize("name", sorted(OPS))
def test_each_operation_is_padded_or_refused_as_it_should_be(name: str) -> None:
    model = agree("aot_eager", Program((name,)), {16}, [5, 11], 0.5, True, False)
    refused = {event.reason for event in model.backend.events() if isinstance(event, RungRefused)}
    assert bool(refused) == (name in MIXES_ROWS), refused


MIXES_ROWS = {
    "softmax over rows",
    "minus mean over rows",
    "plus sum over rows",
    "size in arithmetic",
    "cat and halve",
    "shift up",
    "flip",
    "gram",
    "last row",
}


@pytest.mark.slow
@settings(quick, max_examples=10)
@given(programs, ladders, calls, values, st.booleans(), st.booleans())
def test_random_padded_graphs_through_inductor(
    program: Program, pads: set[int], calls: list[int], value: float, grad: bool, batch: bool
) -> None:
    agree("inductor", program, pads, calls, value, grad, batch)
