"""Whose memory outputs and workspaces of CUDA graphs are, on a real device."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

from .device import ON_A_DEVICE

pytestmark = ON_A_DEVICE

MIB = 2**20
LONG = 8192
"""A sum this long over few results is what cuBLAS splits, and keeps the parts of in its workspace."""

PINS = BucketLadder.pins([16, 32, 64, 128])


class LongSums(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.nn.Linear(LONG, 64, bias=False)
        self.biased = torch.nn.Linear(LONG, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.plain(x).relu() + self.biased(x)


def rows(count: int, width: int = LONG) -> torch.Tensor:
    return torch.randn(count, width, device="cuda")


def served(model: Any, ladder: Any = PINS, argument: str = "x", **options: Any) -> Any:
    options = {"cuda_graphs": True, "inner": "aot_eager"} | options
    return bucketed(model, ladder, {argument: {0: "n"}}, **options)


def same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=5e-3, atol=5e-3)


def marked() -> list[torch.Tensor]:
    """Tensors over what has been given back, of the sizes that workspaces and outputs have."""
    sizes = [MIB // 2] * 24 + [4 * MIB] * 16 + [8 * MIB + 1024] * 8 + [32 * MIB] * 8
    return [torch.full((size // 4,), 77, dtype=torch.int32, device="cuda") for size in sizes]


def untouched(tensors: list[torch.Tensor]) -> bool:
    return all(bool((each == 77).all()) for each in tensors)


def given_back() -> None:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


@torch.no_grad()
@pytest.mark.parametrize("inner", ["aot_eager", "inductor"])
def test_graphs_of_torchs_own_in_the_same_process(inner: str) -> None:
    net, other = LongSums().cuda(), LongSums().cuda()
    model = served(net, inner=inner)
    model.warm_up(rows(7), grad=False)
    theirs = torch.compile(other, mode="reduce-overhead", dynamic=False)
    fixed = rows(48)
    for turn in range(5):
        for size in (16, 128, 64, 32):
            torch.compiler.cudagraph_mark_step_begin()
            same(theirs(fixed), other(fixed))
            given_back()
            others = marked()
            x = rows(size)
            same(model(x), net(x))
            torch.cuda.synchronize()
            assert untouched(others), (turn, size)
            del others
    assert model.backend.graphs.report().recorded == 4, str(model.backend.graphs)


@torch.no_grad()
def test_workspaces_may_be_cleared_at_any_time() -> None:
    net = LongSums().cuda()
    model = served(net)
    model.warm_up(rows(7), grad=False)
    for size in (16, 128, 64, 32, 16):
        torch._C._cuda_clearCublasWorkspaces()
        given_back()
        others = marked()
        x = rows(size)
        same(model(x), net(x))
        torch.cuda.synchronize()
        assert untouched(others), size
        del others


@torch.no_grad()
def test_an_output_outlives_the_model() -> None:
    net = LongSums().cuda()
    model = served(net)
    x = rows(64)
    expected = net(x)
    model(x)
    y = model(x)
    assert model.backend.graphs.report().recorded == 1
    del model
    torch._dynamo.reset()
    given_back()
    others = marked()
    later = served(LongSums().cuda())
    later.warm_up(rows(7), grad=False)
    same(y, expected)
    y.fill_(1)
    torch.cuda.synchronize()
    assert untouched(others)


@torch.no_grad()
def test_recordings_after_a_reset_while_an_output_is_held() -> None:
    net = LongSums().cuda()
    model = served(net)
    x = rows(64)
    kept = model(x)
    expected = net(x)
    torch._dynamo.reset()
    given_back()
    for size in (64, 16):
        other = rows(size)
        same(model(other), net(other))
    assert model.backend.graphs.report().recorded == 2, str(model.backend.graphs)
    same(kept, expected)


@torch.no_grad()
def test_outputs_that_share_their_memory_go_on_sharing_it() -> None:
    model = served(lambda x, w: torch.chunk(x @ w, 2, 1))
    w = torch.randn(64, 64, device="cuda") / 8
    for size in (64, 16, 64):
        x = rows(size, 64)
        first, second = model(x, w)
        assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
        for mine, expected in zip((first, second), torch.chunk(x @ w, 2, 1), strict=True):
            same(mine, expected)


def allocated(sizes: list[int]) -> tuple[int, int]:
    """Bytes that a warmed-up model keeps allocated, and bytes of its pool."""
    torch._dynamo.reset()
    net = torch.nn.Linear(64, 4096).cuda()
    model = served(net, BucketLadder.pins(sizes), "input")
    torch._C._cuda_clearCublasWorkspaces()
    given_back()
    before = torch.cuda.memory_allocated()
    model.warm_up(rows(7, 64), grad=False)
    torch._C._cuda_clearCublasWorkspaces()
    given_back()
    report = model.backend.graphs.report()
    assert report.recorded == len(sizes), str(report)
    return torch.cuda.memory_allocated() - before, report.pool_bytes


@torch.no_grad()
def test_eight_rungs_hold_what_the_largest_needs() -> None:
    allocated([2048])
    alone, pool_alone = allocated([2048])
    many, pool_of_many = allocated([2048, 1900, 1800, 1700, 1600, 1500, 1400, 1300])
    # Each rung has an output of 20 to 32 MiB.
    assert many < alone + 2 * MIB
    assert pool_of_many < pool_alone + 40 * MIB
