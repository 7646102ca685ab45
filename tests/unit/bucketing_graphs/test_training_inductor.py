"""What Inductor makes of the two halves: memory it writes again, seeds, buffers that it gives back."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._functorch import config as functorch
from torch.utils.checkpoint import checkpoint

from compilescope.ladder import BucketLadder

from .twins import INPUT, Dropped, Twins, same, trained_lines

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")

ONE = BucketLadder.pins([8])


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, input: torch.Tensor) -> Any:
        y = self.down(self.up(self.norm(input)).relu()) + input
        self.seen.add_(y.detach().mean())
        return y, (y @ y.t()).softmax(-1)


def strided(twins: Twins) -> Twins:
    """Inductor chooses strides of its own."""
    twins.with_layouts = False
    return twins


@pytest.mark.parametrize("donated", [True, False])
def test_steps(graphed: Any, donated: bool) -> None:
    with functorch.patch(donated_buffer=donated):
        twins = strided(Twins(graphed, Block(), ladder=ONE, inner="inductor"))
        twins.model.warm_up(torch.randn(7, 8, requires_grad=True))
        twins.compare()
        optimizers = twins.optimizers(lambda ps: torch.optim.Adam(ps, lr=0.01))
        for _ in range(3):
            twins.step(torch.randn(8, 8, requires_grad=True))
            losses = [twins.step(torch.randn(8, 8, requires_grad=True), backward=False) for _ in range(2)]
            for mine, theirs in losses:
                mine.backward(retain_graph=not donated)
                theirs.backward(retain_graph=not donated)
                twins.compare()
                if not donated:
                    mine.backward()
                    theirs.backward()
                    twins.compare()
            for each in optimizers:
                each.step()
                each.zero_grad()
            twins.still_same()
            twins.held.clear()
            del losses, mine, theirs
    assert not twins.plainly()
    assert twins.replays() == (10, 10 if donated else 16)


def test_the_backward_drops_what_the_forward_dropped(graphed: Any) -> None:
    model, _ = graphed(Dropped(), ONE, INPUT, inner="inductor", fallback="eager")
    model.warm_up(torch.randn(7, 8, requires_grad=True))
    masks = []
    for around in (lambda x: model(x), lambda x: checkpoint(model, x, use_reentrant=False)):
        for _ in range(3):
            x = torch.ones(8, 8, requires_grad=True)
            y = around(x)
            (gradient,) = torch.autograd.grad(y.sum(), x)
            same(gradient, y.detach())
            masks.append(tuple(y.flatten().tolist()))
    assert len(set(masks)) == len(masks)
    assert trained_lines(model)["8"].backward_replays == 1 + 6


@pytest.mark.slow
def test_layers_of_a_transformer(graphed: Any) -> None:
    """Its backward is given what the forward saved in several layouts."""
    net = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
        2,
        enable_nested_tensor=False,
    )
    twins = strided(Twins(graphed, net, {"src": {1: "n"}}, BucketLadder.pins([4, 8]), inner="inductor"))
    twins.model.warm_up(torch.randn(2, 5, 16))
    optimizers = twins.optimizers(lambda ps: torch.optim.SGD(ps, lr=0.01))
    for size in (8, 4, 8, 4):
        twins.step(torch.randn(2, size, 16))
        for each in optimizers:
            each.step()
            each.zero_grad()
    twins.still_same()
    assert not twins.plainly()
    assert twins.replays() == (6, 6)
