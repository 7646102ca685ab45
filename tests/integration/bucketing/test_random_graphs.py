"""Random graphs x ladders x sizes x strides x dtypes equal eager, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

WIDTH = 8

Op = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# Each takes and gives a (tokens, 8) tensor; the second argument is a weight of shape (8, 8).
OPS: dict[str, Op] = {
    "tanh": lambda x, w: x.tanh(),
    "affine": lambda x, w: x * 0.5 + 1,
    "matmul": lambda x, w: x @ w,
    "softmax over rows": lambda x, w: x.softmax(0),
    "minus mean over rows": lambda x, w: x - x.mean(0, keepdim=True),
    "times row sum": lambda x, w: x * x.sum(1, keepdim=True).sigmoid(),
    "size in arithmetic": lambda x, w: x * (x.shape[0] / 64),
    "transpose twice": lambda x, w: x.t().contiguous().t() + 0,
    "flatten and back": lambda x, w: x.reshape(-1).reshape(x.shape[0], WIDTH) * 1,
    "cat and halve": lambda x, w: torch.cat([x, x * 2])[: x.shape[0]],
    "cat columns": lambda x, w: torch.cat([x[:, 4:], x[:, :4]], 1),
    "flip": lambda x, w: x.flip(0),
    "cumsum": lambda x, w: x.cumsum(0) / x.shape[0],
    "pad and cut": lambda x, w: torch.nn.functional.pad(x, (0, 0, 1, 2))[1:-2],
    "gram": lambda x, w: (x @ x.t()).sigmoid() @ x / x.shape[0],
}

LAYOUTS: dict[str, Callable[[int, torch.dtype], torch.Tensor]] = {
    "contiguous": lambda n, d: torch.randn(n, WIDTH, dtype=d),
    "columns of a wider one": lambda n, d: torch.randn(n, WIDTH + 3, dtype=d)[:, 1 : 1 + WIDTH],
    "transposed": lambda n, d: torch.randn(WIDTH, n, dtype=d).t(),
    "pitched": lambda n, d: torch.randn(WIDTH, n + 5, dtype=d)[:, :n].t(),
    "with an offset": lambda n, d: torch.randn(n + 7, WIDTH, dtype=d)[4 : 4 + n],
    "every other row": lambda n, d: torch.randn(2 * n, WIDTH, dtype=d)[::2],
}


@dataclass(frozen=True)
class Program:
    ops: tuple[str, ...]

    def __call__(self, x: torch.Tensor, w: torch.Tensor) -> Any:
        for name in self.ops:
            x = OPS[name](x, w)
        return x, x.float().sum(0)


programs = st.lists(st.sampled_from(sorted(OPS)), min_size=1, max_size=4).map(tuple).map(Program)
sizes = st.integers(2, 40)


@st.composite
def ladders(draw: st.DrawFn) -> BucketLadder:
    ladder = BucketLadder.pins(draw(st.sets(sizes, max_size=3)))
    if draw(st.booleans()):
        low = draw(sizes)
        high = draw(st.integers(low + 4, 60))
        ladder |= BucketLadder.range(low, high)
    return ladder


def agree(
    inner: str,
    program: Program,
    ladder: BucketLadder,
    calls: list[tuple[int, str]],
    dtype: torch.dtype,
    grad: bool,
) -> Any:
    torch._dynamo.reset()
    weight = (torch.randn(WIDTH, WIDTH, dtype=dtype) / 3).requires_grad_(grad)
    model = bucketed(lambda x, w: program(x, w), {"n": ladder}, {"x": {0: "n"}}, inner=inner)
    tolerance = {torch.float32: 2e-4, torch.float64: 1e-7, torch.bfloat16: 0.1}[dtype]
    for number, (size, layout) in enumerate(calls):
        results = []
        for function in (program, model):
            torch.manual_seed(number)
            x = LAYOUTS[layout](size, dtype).detach().requires_grad_(grad)
            weight.grad = None
            outputs = function(x, weight)
            if grad:
                sum(
                    (o.float() * torch.linspace(-1, 1, o.numel()).view(o.shape)).sum() for o in outputs
                ).backward()
            results.append([*outputs, x.grad, weight.grad])
        for actual, expected in zip(results[1], results[0], strict=True):
            assert (actual is None) == (expected is None)
            if expected is not None:
                assert actual.stride() == expected.stride() or not program_output(expected, outputs)
                scale = max(1.0, expected.detach().abs().max().item())
                torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance * scale)
    return model


def program_output(tensor: torch.Tensor, outputs: Any) -> bool:
    """Strides are promised of outputs; a gradient's are the compiler's to choose."""
    return any(tensor is output for output in outputs)


calls = st.lists(st.tuples(sizes, st.sampled_from(sorted(LAYOUTS))), min_size=1, max_size=4)
dtypes = st.sampled_from([torch.float32, torch.float64, torch.bfloat16])
quick = settings(
    max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


@quick
@given(programs, ladders(), calls, dtypes, st.booleans())
def test_random_graphs_equal_eager(
    program: Program, ladder: BucketLadder, calls: list[tuple[int, str]], dtype: torch.dtype, grad: bool
) -> None:
    model = agree("aot_eager", program, ladder, calls, dtype, grad)
    served = model.backend.dispatch_counts()
    assert sum(count.count for count in served) == len(calls)
    assert sum(count.count for count in served if count.outcome == "eager") == 0
    for count in served:
        if count.outcome == "exact":
            assert count.rung == str(count.sizes[0])


@pytest.mark.slow
@settings(quick, max_examples=12)
@given(programs, ladders(), calls, dtypes, st.booleans())
def test_random_graphs_through_inductor_equal_eager(
    program: Program, ladder: BucketLadder, calls: list[tuple[int, str]], dtype: torch.dtype, grad: bool
) -> None:
    agree("inductor", program, ladder, calls, dtype, grad)
