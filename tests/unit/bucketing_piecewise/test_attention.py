"""A stack of attention blocks, split at attention."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.bucketing.piecewise import ATTENTION
from compilescope.ladder import BucketLadder

from .models import WIDTH, Net

LENGTHS = {"l": BucketLadder.pins([4, 8])}
DIMS = {"x": {0: None, 1: "l"}}


def split(net: torch.nn.Module, ladder: Any = None, dims: Any = None, **options: Any) -> Any:
    options = {"inner": "aot_eager", "split_ops": ATTENTION} | options
    return bucketed(net, ladder or LENGTHS, dims or DIMS, **options)


def test_forward_and_gradients_equal_the_unsplit_graph() -> None:
    net = Net()
    model, whole = split(net), bucketed(net, LENGTHS, DIMS, inner="aot_eager")
    for batch, length in ((2, 4), (3, 8), (2, 8), (4, 5)):
        x = torch.randn(batch, length, WIDTH)
        results = []
        for each in (model, whole, net):
            net.zero_grad()
            given = x.clone().requires_grad_()
            y = each(given)
            (y * torch.linspace(-1, 1, y.numel()).view(y.shape)).sum().backward()
            results.append([y, given.grad, *(p.grad for p in net.parameters())])
        for mine, unsplit, eager in zip(*results, strict=True):
            torch.testing.assert_close(mine, unsplit, rtol=0, atol=0)
            torch.testing.assert_close(mine, eager)


@torch.no_grad()
def test_identical_pieces_are_compiled_once() -> None:
    model = split(Net())
    model.warm_up(torch.randn(3, 7, WIDTH), grad=False)
    assert [str(each) for each in model.backend.splits] == [
        "9 pieces: 4 eager, 5 compiled, of which 3 were new"
    ] * 3
    first, _, _ = model.backend.splits
    assert (first.pieces, first.eager, first.compiled) == (9, 4, 3)


def test_in_training_the_first_piece_has_an_input_without_gradient() -> None:
    model = split(Net())
    model(torch.randn(2, 4, WIDTH)).sum().backward()
    assert {each.compiled for each in model.backend.splits} == {4}


@torch.no_grad()
def test_a_static_piece_is_shared_by_rungs_that_do_not_change_it() -> None:
    class Tail(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks, self.head = Net(1), torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return self.blocks(x), self.head(y).sin()

    model = split(Tail(), {"l": BucketLadder.pins([4, 8])}, {"x": {1: "l"}})
    x, y = torch.randn(2, 4, WIDTH), torch.randn(3, WIDTH)
    for each, expected in zip(model(x, y), model._orig_mod(x, y), strict=True):
        torch.testing.assert_close(each, expected)


@torch.no_grad()
def test_the_source_frees_what_is_dead() -> None:
    model = split(Net(2))
    model(torch.randn(2, 4, WIDTH))
    source = model.backend.splits[0].source
    calls = [line for line in source.splitlines() if "piece_" in line]
    deleted = " ".join(line for line in source.splitlines() if line.strip().startswith("del")).replace(
        ",", ""
    )
    made = {name for line in calls for name in line.split("=")[0].replace(",", "").split()}
    returned = source.splitlines()[-1]
    assert made
    for name in made:
        assert (name in deleted.split()) != (name in returned)


@torch.no_grad()
def test_an_activation_is_gone_when_its_last_piece_has_run() -> None:
    alive: list[int] = []
    seen: list[weakref.ref[torch.Tensor]] = []

    def watched(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        def run(*arguments: Any) -> Any:
            outputs = graph.forward(*arguments)
            seen.extend(weakref.ref(each) for each in outputs)
            gc.collect()
            alive.append(sum(reference() is not None for reference in seen))
            return outputs

        return run

    model = split(Net(6), inner=watched)
    model(torch.randn(2, 4, WIDTH))
    alive.clear()
    seen.clear()
    model(torch.randn(2, 4, WIDTH))
    assert len(alive) == 7
    assert max(alive) <= 8  # q, k, v and the residual, before and after


@torch.no_grad()
def test_two_ladders_ranges_and_free_sizes() -> None:
    net = Net(2)
    ladders = {
        "b": BucketLadder.pins([2]) | BucketLadder.range(3, 9),
        "l": BucketLadder.pins([4, 8]) | BucketLadder.range(9, 30),
    }
    model = split(net, ladders, {"x": {0: "b", 1: "l"}})
    for batch, length in ((2, 4), (3, 8), (2, 8), (4, 5), (5, 20), (30, 40), (1, 3)):
        x = torch.randn(batch, length, WIDTH)
        torch.testing.assert_close(model(x), net(x))
    assert sum(count.count for count in model.backend.dispatch_counts() if count.outcome == "eager") == 0


def test_autocast_and_checkpoint() -> None:
    class Checkpointed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net(2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.net.blocks:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            return x

    for net in (Net(2), Checkpointed()):
        torch._dynamo.reset()
        model = split(net)
        x = torch.randn(2, 4, WIDTH)
        with torch.autocast("cpu", torch.bfloat16):
            results = []
            for each in (model, net):
                net.zero_grad()
                y = each(x)
                y.float().square().mean().backward()
                results.append([y, *(p.grad for p in net.parameters())])
        for mine, eager in zip(*results, strict=True):
            assert mine.dtype == eager.dtype
            torch.testing.assert_close(mine.float(), eager.float(), rtol=0.05, atol=0.05)


@pytest.mark.slow
def test_through_inductor() -> None:
    net = Net(2)
    model = split(net, inner="inductor")
    for length in (4, 8, 5):
        x = torch.randn(2, length, WIDTH)
        results = []
        for each in (model, net):
            net.zero_grad()
            y = each(x)
            y.square().mean().backward()
            results.append([y, *(p.grad for p in net.parameters())])
        for mine, eager in zip(*results, strict=True):
            torch.testing.assert_close(mine, eager, rtol=1e-3, atol=1e-4)
