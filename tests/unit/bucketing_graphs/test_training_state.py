"""State that a step reads and writes beside its inputs: random numbers, buffers, parameters, autocast."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from compilescope.bucketing.graphs.sets import MOVED_AWAY, RECORDINGS
from compilescope.ladder import BucketLadder

from .twins import INPUT, PINS, Dropped, Twins, plainly, same, trained_lines


def test_dropout_draws_anew_and_its_backward_knows_what(graphed: Any) -> None:
    model, _ = graphed(Dropped(), PINS, INPUT, fallback="eager")
    model.warm_up(torch.randn(7, 8))
    masks = []
    for size in (8, 4, 8, 8):
        x = torch.ones(size, 8, requires_grad=True)
        first, second = model(x), model(x)
        for y in (first, second):
            (gradient,) = torch.autograd.grad(y.sum(), x)
            torch.testing.assert_close(gradient, y)
            masks.append(y.detach().clone())
    assert len({tuple(each.flatten().tolist()) for each in masks}) == len(masks)
    assert not plainly(model)


def test_the_same_seed_draws_the_same(graphed: Any) -> None:
    model, _ = graphed(Dropped(), PINS, INPUT, fallback="eager")
    model.warm_up(torch.randn(7, 8))
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(model(torch.ones(8, 8)))
    same(*found)


def normed() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 8))


@pytest.mark.parametrize("warm", [False, True])
def test_batch_norm(graphed: Any, warm: bool) -> None:
    twins = Twins(graphed, normed())
    if warm:
        twins.model.warm_up(torch.randn(7, 8))
        twins.compare()
    for size in (8, 4, 8, 4):
        twins.step(torch.randn(size, 8))
        for module in (twins.model, twins.twin):
            module.eval()
        with torch.no_grad():
            x = torch.randn(size, 8)
            same(twins.model(x), twins.twin(x), "evaluation")
        twins.step(torch.randn(size, 8))
        for module in (twins.model, twins.twin):
            module.train()
    twins.still_same()
    assert not twins.plainly()


def test_a_warm_up_leaves_no_trace(graphed: Any) -> None:
    net = torch.nn.Sequential(normed(), torch.nn.Dropout(0.5))
    twins = Twins(graphed, net)
    x = torch.randn(7, 8, requires_grad=True)
    net[0][0].weight.grad = torch.ones(8, 8)
    twins.twin[0][0].weight.grad = torch.ones(8, 8)
    x.grad = torch.ones(7, 8)
    before = torch.get_rng_state()
    versions = [each._version for each in net.parameters()]
    twins.model.warm_up(x)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(x.grad, torch.ones(7, 8))
    assert versions == [each._version for each in net.parameters()]
    twins.compare()
    made = [len(each.made) for each in twins.recorder.training]
    for size in (8, 4):
        twins.model(torch.randn(size, 8, requires_grad=True)).sum().backward()
    assert made == [len(each.made) for each in twins.recorder.training]
    assert twins.replays() == (4, 4)


@pytest.mark.parametrize(
    ("way", "between"),
    # Data that moves before the backward is read by eager's, while compiled code has saved what was there.
    [("data", False), ("assign", False), ("assign", True), ("parameter", False), ("parameter", True)],
)
def test_parameters_that_move(graphed: Any, way: str, between: bool) -> None:
    twins = Twins(graphed, torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8)))
    for size in (8, 4, 8, 8):
        losses = twins.step(torch.randn(size, 8), backward=not between)
        other = {name: torch.randn_like(each) for name, each in twins.net.state_dict().items()}
        for module in (twins.net, twins.twin):
            if way == "data":
                for name, each in module.named_parameters():
                    each.data = other[name].clone()
            elif way == "assign":
                module.load_state_dict(copy.deepcopy(other), assign=True)
            else:
                module[2].weight = torch.nn.Parameter(other["2.weight"].clone())
        if between:
            for each in losses:
                each.backward()
        twins.compare()
    twins.still_same()
    assert twins.replays()[0] == 4


def test_sets_of_parameters_that_come_back(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    sets = [[torch.randn(8, 8) for _ in range(3)] for _ in range(2)]
    for number in (0, 1, 2, 0, 1, 2, 2, 0):
        twins.net.weight.data, twins.twin.weight.data = (
            sets[0][number],
            sets[1][number].copy_(sets[0][number]),
        )
        twins.step(torch.randn(8, 8))
        twins.net.zero_grad()
        twins.twin.zero_grad()
    assert twins.lines["8"].recorded == 3
    assert twins.replays() == (8, 8)


@pytest.mark.parametrize("sets", [MOVED_AWAY + 1, RECORDINGS + 2])
def test_more_sets_of_parameters_than_are_kept(graphed: Any, sets: int) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8), ladder=BucketLadder.pins([8]))
    kept = []
    for _ in range(sets):
        kept.append(twins.net.weight.data)
        value = torch.randn(8, 8)
        twins.net.weight.data, twins.twin.weight.data = value, value.clone()
        twins.step(torch.randn(8, 8))
    assert len(kept) == sets
    # This backward reads no parameter and nothing that was saved in the graphs' memory: one serves them all.
    assert twins.replays() == (min(sets, RECORDINGS), sets)
    given_up = twins.lines["8"].skipped
    assert (given_up is not None) == (sets > RECORDINGS), given_up
    twins.step(torch.randn(8, 8))
    twins.still_same()


@pytest.mark.filterwarnings("ignore:torch._dynamo.config.inline_inbuilt_nn_modules is deprecated")
def test_parameters_that_are_no_inputs_of_the_graph(graphed: Any) -> None:
    with torch._dynamo.config.patch(inline_inbuilt_nn_modules=False):
        twins = Twins(graphed, normed())
        for size in (8, 4, 8):
            twins.step(torch.randn(size, 8))
    twins.still_same()


class Counting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, calls: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(calls)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        ctx.saved_tensors[0].add_(1)
        return gradient * 2, None


class CountsItsBackwards(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(8))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return Counting.apply(input * self.w, self.calls)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_a_backward_that_writes_a_buffer(graphed: Any) -> None:
    """Recording it would write the buffer a few times more."""
    twins = Twins(graphed, CountsItsBackwards())
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
    assert not twins.recorder.training
    assert "training: its backward writes what it is given" in str(twins.model.backend.graphs)


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(input).relu())


def test_shared_weights(graphed: Any) -> None:
    twins = Twins(graphed, Tied())
    optimizers = twins.optimizers(lambda ps: torch.optim.SGD(ps, lr=0.1))
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
        for each in optimizers:
            each.step()
    assert twins.replays() == (3, 3)


@pytest.mark.parametrize("frozen", [["0.weight"], ["0.weight", "0.bias"], ["2.weight", "2.bias"]])
def test_frozen_parameters(graphed: Any, frozen: list[str]) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
    for name in frozen:
        net.get_parameter(name).requires_grad_(False)
    twins = Twins(graphed, net)
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8, requires_grad=size == 8))
    assert twins.replays() == (3, 3)
    torch._dynamo.reset()  # torch 2.11 does not notice
    twins.net.requires_grad_(True)
    twins.twin.requires_grad_(True)
    twins.step(torch.randn(8, 8))
    twins.still_same()


@pytest.mark.parametrize("backward_inside", [False, True])
def test_autocast(graphed: Any, backward_inside: bool) -> None:
    twins = Twins(graphed, torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)))
    for size in (8, 4, 8):
        with torch.autocast("cpu", torch.bfloat16):
            losses = twins.step(torch.randn(size, 8, requires_grad=True), backward=False)
            if backward_inside:
                for each in losses:
                    each.backward()
        if not backward_inside:
            for each in losses:
                each.backward()
        for name, mine in twins.gradients(twins.net).items():
            torch.testing.assert_close(mine, twins.gradients(twins.twin)[name], rtol=0.05, atol=0.05)
        twins.step(torch.randn(size, 8), backward=False)
    assert twins.replays() == (6, 3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dtypes(graphed: Any, dtype: torch.dtype) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8).to(dtype))
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8, dtype=dtype, requires_grad=True))
    assert twins.replays() == (3, 3)


def test_a_copy_of_the_model(graphed: Any) -> None:
    """Has a backend of its own: here without a recorder, so that it runs as compiled."""
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    losses = twins.step(torch.randn(8, 8), backward=False)
    other = copy.deepcopy(twins.model)
    x = torch.randn(8, 8)
    other(x).sum().backward()
    for each in losses:
        each.backward()
    twins.compare()
    expected = torch.autograd.grad(twins.twin(x).sum(), list(twins.twin.parameters()))
    same([each.grad for each in other.parameters()], list(expected))
    assert not trained_lines(other)
