"""What runs without gradients in a training step: frozen parts, reentrant checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from .twins import INPUT, PINS, Twins, copied, same


class Frozen(torch.nn.Module):
    """A part that needs no gradients in front of one that does, in two graphs."""

    def __init__(self, under_no_grad: bool) -> None:
        super().__init__()
        self.under_no_grad = under_no_grad
        self.frozen = torch.nn.Linear(8, 8).requires_grad_(under_no_grad)
        self.head = torch.nn.Linear(8, 8)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        with torch.set_grad_enabled(not self.under_no_grad):
            features = self.frozen(input).tanh()
        torch._dynamo.graph_break()
        return self.head(features)


@pytest.mark.parametrize("under_no_grad", [False, True])
def test_a_frozen_part_of_the_model(graphed: Any, under_no_grad: bool) -> None:
    twins = Twins(graphed, Frozen(under_no_grad))
    for size in (8, 4, 8):
        losses = [twins.step(torch.randn(size, 8), backward=False) for _ in range(2)]
        for mine, theirs in losses:
            mine.backward()
            theirs.backward()
        twins.compare()
        twins.held.clear()
        del losses, mine, theirs


def test_a_frozen_model_that_feeds_another(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8).requires_grad_(False))
    w = torch.randn(8, requires_grad=True)
    for size in (8, 4, 8):
        left, right = torch.randn(size, 8), torch.randn(size, 8)
        found = []
        for model in (twins.model, twins.twin):
            y = (model(left) * w).sum() + (model(right) * w).square().sum()
            found.append(torch.autograd.grad(y, w))
        same(*found, "gradients")
    assert twins.recorder.made


@pytest.mark.parametrize("inside", [False, True])
def test_reentrant_checkpoints(graphed: Any, inside: bool) -> None:
    """The first run has no gradients, and what it returns is read until the backward."""
    twins = Twins(graphed, torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()))
    for size in (8, 4, 8, 8):
        given = torch.randn(size, 8, requires_grad=True)
        found = []
        for model in (twins.model, twins.twin):
            (x,) = copied([given])
            y = checkpoint(model, x, use_reentrant=True)
            z = checkpoint(model, y if inside else x * 2, use_reentrant=True)
            (y.square() * z.exp()).sum().backward()
            found.append([y.detach(), z.detach(), x.grad])
        same(*found, "outputs and gradients")
        twins.compare()
    assert twins.recorder.made
    assert twins.replays() == (8, 8)


@torch._dynamo.disable
def reentrant(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return checkpoint(module, x, use_reentrant=True)


class CheckpointedInside(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return reentrant(self.second, self.first(input).tanh()).sin()


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_backward_that_no_warm_up_can_run(graphed: Any) -> None:
    """autograd refuses to return gradients through a reentrant checkpoint: it only adds them."""
    twins = Twins(graphed, CheckpointedInside())
    twins.model.warm_up(torch.randn(7, 8))
    twins.compare()
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
    assert not twins.plainly()


def test_results_that_no_gradient_goes_through(graphed: Any) -> None:
    """Parameters require gradients, results do not: recorded as in inference, and kept as in training."""
    net = torch.nn.Linear(8, 8)
    model, recorder = graphed(lambda input: net(input).argmax(1), PINS, INPUT)
    xs = [torch.randn(size, 8) for size in (8, 4, 8, 8)]
    for x, mine in zip(xs, [model(x) for x in xs], strict=True):
        assert torch.equal(mine, net(x).argmax(1))
    assert len(recorder.made) == 2
    assert not recorder.training
