"""Random programs, cut at random operators and recorded piece by piece, equal eager in any order of rungs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

from .conftest import give_recorder
from .operators import attend, scaled

WIDTH = 8

Op = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def attended(x: torch.Tensor, e: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    out = e * 0.5
    attend(x, out)
    return out


# Each takes the value so far, an earlier value and a weight; those named 'split' hold an operator to cut at.
OPS: dict[str, Op] = {
    "tanh": lambda x, e, w: x.tanh(),
    "matmul": lambda x, e, w: x @ w,
    "earlier": lambda x, e, w: x + e,
    "transposed": lambda x, e, w: x.t().contiguous().t(),
    "halves": lambda x, e, w: torch.cat(list(x.chunk(2, 1))[::-1], 1),
    "view": lambda x, e, w: x.reshape(-1).view(x.shape[0], WIDTH),
    "flipped view": lambda x, e, w: x.view(x.shape[0], 2, 4).transpose(1, 2).reshape(x.shape[0], WIDTH),
    "split erf": lambda x, e, w: torch.erf(x),
    "split erf of a view": lambda x, e, w: torch.erf(x[:, ::2]).repeat_interleave(2, 1),
    "split in two": lambda x, e, w: sum(torch.split(x, WIDTH // 2, 1)).repeat(1, 2),
    "split in two, one of them": lambda x, e, w: torch.split(e, WIDTH // 2, 1)[1].repeat(1, 2) + x,
    "split on the host": lambda x, e, w: scaled(x),
    "split on the host, twice": lambda x, e, w: scaled(scaled(x)) + e,
    "split writes": attended,
}
SPLIT = [torch.erf, "erf", torch.split, "split", "compilescope_graphs::*"]


@dataclass(frozen=True)
class Program:
    ops: tuple[tuple[str, int], ...]

    def __call__(self, x: torch.Tensor, w: torch.Tensor) -> Any:
        values = [x.sin()]
        for name, back in self.ops:
            values.append(OPS[name](values[-1], values[max(0, len(values) - 1 - back)], w))
        return values[-1], values[len(values) // 2] * 1, values[-1].cos()


programs = (
    st.lists(st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 4)), min_size=2, max_size=8)
    .map(tuple)
    .map(Program)
)
rungs = st.lists(st.integers(2, 12), min_size=1, max_size=3, unique=True)
orders = st.lists(st.integers(0, 2), min_size=2, max_size=6)


@settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(programs, rungs, orders, st.booleans(), st.booleans())
@torch.no_grad()
def test_replayed_pieces_equal_eager(
    program: Program, sizes: list[int], order: list[int], warm: bool, clone_outputs: bool
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(len(program.ops))
    model = bucketed(
        lambda x, w: program(x, w),
        BucketLadder.pins(sizes),
        {"x": {0: "n"}},
        inner="aot_eager",
        fallback="eager",
        split_ops=SPLIT,
        cuda_graphs="pieces",
    )
    recorder = give_recorder(model.backend, clone_outputs=clone_outputs, pieces=True)
    recorder.skips_views = True
    w = torch.randn(WIDTH, WIDTH) / 3
    if warm:
        model.warm_up(torch.randn(7, WIDTH), w, grad=False)
    kept: list[tuple[torch.Tensor, torch.Tensor]] = []
    for number in order:
        x = torch.randn(sizes[number % len(sizes)], WIDTH)
        outputs, expected = model(x, w), program(x, w)
        pairs = list(zip(outputs, expected, strict=True))
        for mine, eager in pairs:
            torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-4)
        kept += pairs if clone_outputs else []
    for mine, eager in kept:
        torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-4)
    if all(each.reason is None for each in model.backend.splits):
        assert recorder.made, str(model.backend.graphs)


@settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(st.lists(st.sampled_from(["gelu", "relu"]), min_size=1, max_size=4), orders)
@torch.no_grad()
def test_padded_sizes_replay_the_pieces_of_the_rung_above(between: list[str], order: list[int]) -> None:
    torch._dynamo.reset()
    parts: list[torch.nn.Module] = [torch.nn.Linear(WIDTH, WIDTH)]
    for name in between:
        parts += [torch.nn.GELU() if name == "gelu" else torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)]
    net = torch.nn.Sequential(*parts)
    model = bucketed(
        net,
        BucketLadder.pads([4, 8, 12]),
        {"input": {0: "n"}},
        inner="aot_eager",
        pad=[Pad("input", 0)],
        split_ops=["gelu"],
        cuda_graphs="pieces",
    )
    recorder = give_recorder(model.backend, pieces=True)
    for number in order:
        x = torch.randn(3 + 4 * number, WIDTH)
        torch.testing.assert_close(model(x), net(x), rtol=1e-4, atol=1e-4)
    assert len(recorder.made) == len(set(order))
