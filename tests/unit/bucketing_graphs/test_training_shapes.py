"""Trained rungs that are padded, of two dimensions, of several graphs a call, of layers that share code."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from compilescope.bucketing import Pad
from compilescope.ladder import BucketLadder

from .twins import PINS, ROWS, Twins, copied, grads, plainly, same, trained_lines

PADS = BucketLadder.pads([4, 8])


@pytest.mark.parametrize("verify", [False, True])
def test_padded_rows(graphed: Any, verify: bool) -> None:
    net = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.GELU())
    twins = Twins(graphed, net, ladder=PADS, pad=[Pad("input", 0)], verify=verify)
    optimizers = twins.optimizers(lambda ps: torch.optim.SGD(ps, lr=0.1))
    for size in (3, 4, 5, 8, 7, 2):
        twins.step(torch.randn(size, 8, requires_grad=True))
        for each in optimizers:
            each.step()
            each.zero_grad()
    twins.still_same()
    assert min(twins.replays()) >= 4
    assert len(twins.lines) == 2


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(1, 2)).masked_fill(mask[:, None, :] == 0, torch.finfo(torch.float32).min)
        return self.out(scores.softmax(-1) @ v)


def test_padded_tokens_with_a_mask(graphed: Any) -> None:
    twins = Twins(
        graphed,
        Attention(),
        {"x": {0: "b", 1: "n"}, "mask": {0: "b", 1: "n"}},
        {"b": BucketLadder.pins([2]), "n": BucketLadder.pads([4, 8])},
        pad=[Pad("x", 1), Pad("mask", 1)],
    )
    for size in (3, 4, 7, 8, 5, 2):
        mask = torch.ones(2, size, dtype=torch.int64)
        mask[1, size // 2 :] = 0
        twins.step(torch.randn(2, size, 8, requires_grad=True), mask)
    twins.still_same()
    assert twins.replays() == (6, 6), str(twins.model.backend.graphs)


def test_two_dimensions(graphed: Any) -> None:
    ladders = {"b": BucketLadder.pins([1, 2]), "n": BucketLadder.pins([4, 8])}
    twins = Twins(graphed, torch.nn.Linear(8, 8), {"input": {0: "b", 1: "n"}}, ladders)
    for batch, rows in ((2, 8), (2, 4), (1, 8), (2, 8), (1, 4), (1, 8)):
        twins.step(torch.randn(batch, rows, 8, requires_grad=True))
    assert twins.replays() == (6, 6)


class Broken(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.first(x).tanh()
        part = y.sum(1)
        torch._dynamo.graph_break()
        z = self.second(y) * part.sum()
        torch._dynamo.graph_break()
        return z.sin() + y, part


NO_LEAF = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


@NO_LEAF
@pytest.mark.parametrize("warm", [False, True])
def test_graph_breaks(graphed: Any, warm: bool) -> None:
    twins = Twins(graphed, Broken(), ROWS)
    if warm:
        twins.model.warm_up(torch.randn(7, 8))
    made = [len(each.made) for each in twins.recorder.training]
    for size in (8, 4, 8, 4, 8):
        twins.step(torch.randn(size, 8))
    twins.still_same()
    losses = [twins.step(torch.randn(size, 8), backward=False) for size in (4, 8)]
    for mine, theirs in losses:
        mine.backward()
        theirs.backward()
    twins.compare()
    assert not twins.plainly()
    if warm:
        assert made == [4, 4, 4]
        assert [len(each.made) for each in twins.recorder.training][:3] == [4, 4, 4]


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.linear(self.norm(x)).relu()


def layers(count: int) -> torch.nn.ModuleList:
    return torch.nn.ModuleList(Layer() for _ in range(count))


@NO_LEAF
@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_layers_that_share_their_code(graphed: Any, count: int) -> None:
    """Each is called before the backward of the one before: each has memory of its own to save in."""
    mine, theirs = layers(count), layers(count)
    theirs.load_state_dict(mine.state_dict())
    model, _ = graphed(lambda x, layer: layer(x), PINS, ROWS, fallback="eager")
    steps = [torch.optim.Adam(each.parameters(), lr=0.01) for each in (mine, theirs)]
    for size in (8, 4, 8, 8):
        x = torch.randn(size, 8, requires_grad=True)
        given = copied([x, x])
        for value, stack, step in zip(given, (mine, theirs), steps, strict=True):
            y = value
            for layer in stack:
                y = layer(y) if stack is theirs else model(y, layer)
            y.square().sum().backward()
            step.step()
            step.zero_grad()
        same(*grads(given), "gradients of inputs")
        same(dict(mine.named_parameters()), dict(theirs.named_parameters()), "parameters")
    assert not plainly(model), str(model.backend.graphs)
    assert sum(line.backward_replays for line in trained_lines(model).values()) == 4 * count


@NO_LEAF
@pytest.mark.parametrize("most", [128, 5])
def test_many_layers_under_checkpoints(graphed: Any, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Nothing waits for a backward, and all have the same memory: as many recordings in it as layers."""
    monkeypatch.setattr("compilescope.bucketing.graphs.sets.LAYERS", most)
    mine, theirs = layers(12), layers(12)
    theirs.load_state_dict(mine.state_dict())
    model, recorder = graphed(lambda x, layer: layer(x), BucketLadder.pins([8]), ROWS, fallback="eager")
    for _ in range(4):
        x = torch.randn(8, 8, requires_grad=True)
        given = copied([x, x])
        for value, stack in zip(given, (mine, theirs), strict=True):
            y = value
            for layer in stack:
                y = layer(y) if stack is theirs else checkpoint(model, y, layer, use_reentrant=False)
            y.square().sum().backward()
        same(*grads(given), "gradients of inputs")
    same([p.grad for p in mine.parameters()], [p.grad for p in theirs.parameters()])
    told = plainly(model)
    assert bool(told) == (most < 12), told
    assert trained_lines(model)["8"].skipped is None
    assert len(recorder.training) <= 2


@NO_LEAF
def test_layers_compiled_one_by_one(graphed: Any) -> None:
    mine, theirs = layers(3), layers(3)
    theirs.load_state_dict(mine.state_dict())
    models = [graphed(layer, PINS, ROWS, fallback="eager")[0] for layer in mine]
    for size in (8, 4, 8):
        x = torch.randn(size, 8, requires_grad=True)
        given = copied([x, x])
        for value, stack in zip(given, (models, theirs), strict=True):
            y = value
            for layer in stack:
                y = layer(y)
            y.square().sum().backward()
        same(*grads(given), "gradients of inputs")
    for each, layer in zip(mine, theirs, strict=True):
        same([p.grad for p in each.parameters()], [p.grad for p in layer.parameters()])
    assert not any(plainly(model) for model in models)


def test_pieces_are_of_no_use_in_training(graphed: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8))
    twins = Twins(graphed, net, split_ops=["gelu"], pieces=True)
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
    twins.still_same()


def test_shared_code_is_compiled_for_each_rung_in_training(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8), share_code=True, fallback="dynamic")
    for size in (8, 4, 8, 5):
        twins.step(torch.randn(size, 8))
    twins.still_same()
    assert twins.replays() == (3, 3)
