"""Training loops: in whatever order forwards, backwards and steps come, every number is eager's."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch._functorch import config as functorch

from .twins import Twins, copied, same


def net() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.Softmax(-1)
    )


OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
    "adam": lambda ps: torch.optim.Adam(ps, lr=0.01),
    "adamw, fused": lambda ps: torch.optim.AdamW(ps, lr=0.01, fused=True),
}


@pytest.mark.parametrize(("name", "warm"), [*((name, False) for name in OPTIMIZERS), ("sgd", True)])
def test_an_optimizer_over_rungs(graphed: Any, name: str, warm: bool) -> None:
    twins = Twins(graphed, net())
    if warm:
        twins.model.warm_up(torch.randn(7, 8), grad=True)
    optimizers = twins.optimizers(OPTIMIZERS[name])
    for step, size in enumerate((8, 4, 4, 8, 5, 8)):
        twins.step(torch.randn(size, 8))
        for each in optimizers:
            each.step()
            each.zero_grad(set_to_none=step % 2 == 0)
    twins.still_same()
    assert twins.replays() == ((7, 7) if warm else (5, 5))
    assert not twins.plainly()
    # A forward and a backward of each rung, and at no other time.
    assert [line.graphs for line in twins.lines.values()] == [2, 2]


def test_gradients_are_accumulated(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8, 8, 4, 4):
        twins.step(torch.randn(size, 8, requires_grad=True))
    assert twins.replays() == (6, 6)


def test_gradients_held_over_steps(graphed: Any) -> None:
    twins = Twins(graphed, net())
    held = []
    for size in (8, 8, 4, 8, 4):
        twins.step(torch.randn(size, 8))
        held.append((twins.gradients(twins.net), twins.gradients(twins.twin)))
        twins.model.zero_grad(set_to_none=True)
        twins.twin.zero_grad(set_to_none=True)
    for mine, theirs in held:
        same(mine, theirs, "gradients")
    twins.still_same()


@pytest.mark.parametrize(
    ("order", "sizes"),
    [
        ([0, 1, 2], (8, 4, 8)),
        ([0, 1, 2], (8, 8, 8)),
        ([2, 1, 0], (8, 4, 8)),
        ([1], (8, 4, 8)),
        ([1, 1], (8, 8, 8)),
        ([0, 2, 0], (8, 4, 8)),
    ],
)
@functorch.patch(donated_buffer=False)
def test_forwards_before_their_backwards(graphed: Any, order: list[int], sizes: tuple[int, ...]) -> None:
    twins = Twins(graphed, net())
    for _ in range(2):
        losses = [twins.step(torch.randn(size, 8), backward=False) for size in sizes]
        done: set[int] = set()
        for number in order:
            for each in losses[number]:
                each.backward(retain_graph=number not in done and order.count(number) > 1)
            done.add(number)
            twins.compare()
        twins.still_same()
        twins.held.clear()
        del losses, each
    assert not twins.plainly()
    assert twins.replays() == (6, 2 * len(order))


def test_one_model_twice_in_one_loss(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        left, right = torch.randn(size, 8), torch.randn(size, 8)
        for model in (twins.model, twins.twin):
            (model(left) - model(right)).square().sum().backward()
        twins.compare()
    assert twins.replays() == (6, 6)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_model_that_is_given_its_own_output(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        for model in (twins.model, twins.twin):
            model(model(model(x))).square().sum().backward()
        twins.compare()
    assert twins.replays() == (9, 9)


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
def test_a_backward_that_never_comes(graphed: Any, kept: bool) -> None:
    twins = Twins(graphed, net())
    losses = []
    for size in (8, 4, 8):
        losses.append(twins.step(torch.randn(size, 8), backward=False))
        if not kept:
            losses.clear()
            twins.held.clear()
        twins.step(torch.randn(size, 8))
    twins.still_same()
    assert twins.replays() == (6, 3)
    # What is kept keeps the memory it was saved in.
    assert len(twins.recorder.training) == (4 if kept else 1)
    losses.clear()
    twins.held.clear()
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
    assert not twins.plainly()


def test_more_forwards_wait_than_there_are_pools(graphed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compilescope.bucketing.graphs.training.session.LEVELS", 2)
    twins = Twins(graphed, net())
    for _ in range(2):
        losses = [twins.step(torch.randn(8, 8), backward=False) for _ in range(4)]
        for mine, theirs in losses:
            mine.backward()
            theirs.backward()
            twins.compare()
        twins.still_same()
        twins.held.clear()
        del losses, mine, theirs
    assert twins.replays() == (4, 4)
    assert sorted(twins.plainly().values()) == [4, 4]


class SavesNothing(torch.nn.Module):
    """What its backward reads are the caller's input and the parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(8))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return input * self.w


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_backwards_of_forwards_that_saved_nothing(graphed: Any, order: list[int]) -> None:
    """They come when they like."""
    twins = Twins(graphed, SavesNothing())
    for _ in range(2):
        losses = [twins.step(torch.randn(size, 8), backward=False) for size in (4, 8, 4, 8)]
        for number in order:
            for each in losses[number]:
                each.backward()
            twins.compare()
        twins.held.clear()
        del losses, each
    assert twins.replays() == (8, 8)


@functorch.patch(donated_buffer=False)
def test_gradients_asked_for_by_name(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        x = torch.randn(size, 8, requires_grad=True)
        found = []
        for model, module in ((twins.model, twins.net), (twins.twin, twins.twin)):
            (given,) = copied([x])
            wanted = [given, module[0].bias, module[2].weight]
            loss = model(given).square().sum()
            found.append(torch.autograd.grad(loss, wanted, retain_graph=True))
            found[-1] += torch.autograd.grad(loss, wanted[:1])
        same(*found, "gradients")
    twins.compare()
    assert twins.replays() == (3, 6)


def test_no_grad_between_forward_and_backward(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        losses = twins.step(torch.randn(size, 8), backward=False)
        with torch.no_grad():
            for other in (size, 4, 5):
                x = torch.randn(other, 8)
                same(twins.model(x), twins.twin(x), "evaluation")
        with torch.inference_mode():
            x = torch.randn(size, 8)
            same(twins.model(x), twins.twin(x), "inference")
        for each in losses:
            each.backward()
        twins.compare()
    assert twins.replays() == (3, 3)


def test_dynamo_is_reset_between_forward_and_backward(graphed: Any) -> None:
    twins = Twins(graphed, net())
    twins.step(torch.randn(8, 8))
    losses = twins.step(torch.randn(8, 8), backward=False)
    torch._dynamo.reset()
    twins.step(torch.randn(8, 8))
    for each in losses:
        each.backward()
    twins.compare()
    twins.step(torch.randn(8, 8))
    twins.still_same()


def test_the_model_is_gone_before_the_backward(graphed: Any) -> None:
    twins = Twins(graphed, net())
    twins.step(torch.randn(8, 8))
    losses = twins.step(torch.randn(8, 8), backward=False)
    mine, theirs = list(twins.net.parameters()), list(twins.twin.parameters())
    del twins.model, twins.net
    twins.recorder.training.clear()
    torch._dynamo.reset()
    gc.collect()
    for each in losses:
        each.backward()
    same([each.grad for each in mine], [each.grad for each in theirs], "gradients")
    twins.still_same()


def test_outputs_may_be_written_as_compiled_ones(graphed: Any) -> None:
    """They are copies: what was saved for the backward does not change with them."""
    twins = Twins(graphed, net())
    for size in (8, 8, 4):
        x = torch.randn(size, 8)
        for model in (twins.model, twins.twin):
            y = model(x) * 1
            y.mul_(2)
            y.square().sum().backward()
        twins.compare()
    assert twins.replays() == (3, 3)


def test_a_second_backward_where_buffers_are_donated(graphed: Any) -> None:
    """torch refuses it: the first may have written over what was saved. The calls after it are served."""
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        (loss, _) = twins.step(torch.randn(size, 8), backward=False)
        with pytest.raises(RuntimeError, match="donated buffers"):
            loss.backward(retain_graph=True)
        loss.backward()
        twins.net.zero_grad()
    twins.step(torch.randn(8, 8))
    twins.still_same()
    assert twins.replays() == (4, 4)


def test_a_parameter_written_before_the_backward_is_an_error(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for _ in range(2):
        losses = twins.step(torch.randn(8, 8), backward=False)
        for each, module in zip(losses, (twins.net, twins.twin), strict=True):
            with torch.no_grad():
                module[2].weight.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                each.backward()
