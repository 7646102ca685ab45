"""CUDA graphs in training on a real device, against eager: nothing a backward needs is ever written over."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

from .device import ON_A_DEVICE

pytestmark = ON_A_DEVICE

WIDTH = 64
PINS = BucketLadder.pins([16, 32, 64, 128])
ROWS = {"x": {0: "n"}}


class Net(torch.nn.Module):
    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        self.norm, self.drop = torch.nn.LayerNorm(WIDTH), torch.nn.Dropout(p)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.drop(self.down(torch.nn.functional.gelu(self.up(self.norm(x)))))


class Pair:
    """A bucketed model and its eager twin, which must agree after each step."""

    def __init__(self, net: torch.nn.Module, **options: Any) -> None:
        self.theirs = net.cuda()
        self.mine = copy.deepcopy(self.theirs)
        given = {"cuda_graphs": True, "inner": "aot_eager"} | options
        self.model = bucketed(self.mine, given.pop("ladder", PINS), given.pop("dims", ROWS), **given)
        self.optimizers = [
            torch.optim.AdamW(each.parameters(), lr=1e-3, foreach=True) for each in (self.mine, self.theirs)
        ]

    def step(self, x: torch.Tensor) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        outputs = [forward(x) for forward in (self.model, self.theirs)]
        same(*outputs)
        for output in outputs:
            output.square().mean().backward()
        self.same_gradients()
        for optimizer in self.optimizers:
            optimizer.step()

    def same_gradients(self) -> None:
        for mine, theirs in zip(self.mine.parameters(), self.theirs.parameters(), strict=True):
            same(mine.grad, theirs.grad)

    def lines(self) -> dict[str, Any]:
        """Of the entry that is trained."""
        found = self.model.backend.graphs.report().lines
        return {line.rung: line for line in found if line.backward_replays is not None}


def rows(count: int) -> torch.Tensor:
    return torch.randn(count, WIDTH, device="cuda")


def same(actual: torch.Tensor | None, expected: torch.Tensor | None) -> None:
    torch.testing.assert_close(actual, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("inner", ["inductor", "aot_eager"])
def test_a_training_loop_equals_eager(inner: str, warm: bool) -> None:
    pair = Pair(Net(), inner=inner)
    if warm:
        pair.model.warm_up(rows(7))
        assert all(parameter.grad is None for parameter in pair.mine.parameters())
    for size in (16, 128, 32, 64, 32, 16, 128, 16):
        pair.step(rows(size))
    lines = pair.lines()
    assert {rung: line.graphs for rung, line in lines.items()} == dict.fromkeys(("16", "32", "64", "128"), 2)
    assert all(line.replays == line.backward_replays and not line.plainly for line in lines.values()), lines
    assert lines["16"].replays == 3 + warm


def test_two_forwards_before_a_backward() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    for _ in range(3):
        first, second = rows(16), rows(16)
        for forward in (pair.model, pair.theirs):
            (forward(first).square().mean() + forward(second).sin().mean()).backward()
        pair.same_gradients()
    line = pair.lines()["16"]
    assert (line.recorded, line.replays, line.plainly) == (2, 1 + 6, ())


def test_layers_that_share_their_code() -> None:
    nets = [torch.nn.ModuleList(Net() for _ in range(3)).cuda()]
    nets.append(copy.deepcopy(nets[0]))

    def layer(net: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, dict(net.named_parameters()), (x,))

    models = [bucketed(layer, PINS, ROWS, cuda_graphs=True, inner="aot_eager"), layer]
    for size in (16, 64, 16, 16, 64):
        x = rows(size)
        for model, layers in zip(models, nets, strict=True):
            layers.zero_grad()
            y = x
            for net in layers:
                y = model(net, y)
            y.square().mean().backward()
        for mine, theirs in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
            same(mine.grad, theirs.grad)
    lines = [line for line in models[0].backend.graphs.report().lines if line.backward_replays]
    assert sum(line.backward_replays for line in lines) == 5 * 3
    assert not any(line.plainly for line in lines)


def test_what_the_caller_holds_never_changes() -> None:
    pair = Pair(Net(), inner="inductor")
    pair.model.warm_up(rows(7))
    held = []
    for size in (16, 32, 16, 128, 16, 64):
        x = rows(size).requires_grad_()
        y = pair.model(x)
        loss = y.square().mean()
        (gradient,) = torch.autograd.grad(loss, x)
        tensors = (y, loss, gradient)
        held.append((tensors, [each.detach().clone() for each in tensors]))
    torch.cuda.synchronize()
    for tensors, before in held:
        for each, value in zip(tensors, before, strict=True):
            assert torch.equal(each, value)


@torch._functorch.config.patch(donated_buffer=False)
def test_two_backwards_of_one_forward() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    x = rows(32)
    for forward in (pair.model, pair.theirs):
        loss = forward(x).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
    pair.same_gradients()
    assert pair.lines()["32"].backward_replays == 1 + 2


def test_a_forward_without_a_backward_lets_go() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    for _ in range(3):
        pair.model(rows(64))
        gc.collect()
    assert pair.lines()["64"].recorded == 1
    kept = pair.model(rows(64))
    pair.model(rows(64))
    assert pair.lines()["64"].recorded == 2
    del kept
    pair.step(rows(64))
    assert pair.lines()["64"].recorded == 2


def test_dropout_draws_anew_and_its_backward_has_the_same_mask() -> None:
    def drop(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    for inner in ("inductor", "aot_eager"):
        torch._dynamo.reset()
        model = bucketed(drop, PINS, ROWS, cuda_graphs=True, inner=inner)
        model.warm_up(rows(7).requires_grad_())
        masks = []
        for _ in range(3):
            x = torch.ones(64, WIDTH, device="cuda", requires_grad=True)
            y = model(x)
            (gradient,) = torch.autograd.grad(y.sum(), x)
            assert torch.equal(y != 0, gradient != 0)
            masks.append(y != 0)
        assert not torch.equal(masks[0], masks[1])
        assert not torch.equal(masks[1], masks[2])


def test_batch_norm_keeps_its_statistics() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH))
    pair = Pair(net, dims={"input": {0: "n"}})
    pair.model.warm_up(rows(7))
    for size in (16, 32, 16, 128):
        pair.step(rows(size))
    for mine, theirs in zip(pair.mine.buffers(), pair.theirs.buffers(), strict=True):
        same(mine, theirs)


def test_padded_sizes_train() -> None:
    pair = Pair(Net(), ladder=BucketLadder.pads([16, 64, 128]), pad=[Pad("x", 0)], inner="inductor")
    pair.model.warm_up(rows(7))
    for size in (9, 16, 33, 64, 100, 5, 128):
        pair.step(rows(size))
    assert all(line.replays > 1 and not line.plainly for line in pair.lines().values())


def test_a_graph_break_and_no_grad_in_between() -> None:
    class Broken(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            torch._dynamo.graph_break()
            return super().forward(y.sin())

    pair = Pair(Broken())
    pair.model.warm_up(rows(7))
    for size in (16, 64, 16):
        pair.step(rows(size))
        x = rows(32)
        y, z = pair.model(x), pair.theirs(x)
        with torch.no_grad():
            pair.model(rows(128))
        y.square().mean().backward()
        z.square().mean().backward()
        pair.same_gradients()
    assert not any(line.plainly for line in pair.lines().values())


@pytest.mark.parametrize("reentrant", [False, True])
def test_under_a_checkpoint(reentrant: bool) -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7).requires_grad_())
    for _ in range(3):
        x = rows(32)
        for forward in (pair.model, pair.theirs):
            checkpoint(forward, x.clone().requires_grad_(), use_reentrant=reentrant).sin().mean().backward()
        pair.same_gradients()


def test_saved_tensors_on_the_host() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    x = rows(32)
    for forward in (pair.model, pair.theirs):
        with torch.autograd.graph.save_on_cpu():
            loss = forward(x).square().mean()
        loss.backward()
    pair.same_gradients()
    pair.step(rows(32))


def test_bf16_under_autocast() -> None:
    pair = Pair(Net(), inner="inductor")
    with torch.autocast("cuda", torch.bfloat16):
        pair.model.warm_up(rows(7))
        for size in (16, 32, 16):
            x = rows(size)
            outputs = [forward(x) for forward in (pair.model, pair.theirs)]
            for output in outputs:
                output.float().square().mean().backward()
    for mine, theirs in zip(pair.mine.parameters(), pair.theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=5e-2, atol=5e-2)
    assert pair.lines()["16"].replays > 1


def test_another_stream_trains_as_compiled() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    pair.step(rows(16))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        pair.step(rows(16))
    torch.cuda.current_stream().wait_stream(side)
    assert any("another stream" in reason for reason, _ in pair.lines()["16"].plainly)
    pair.step(rows(16))


def test_parameters_that_moved_are_recorded_anew() -> None:
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    pair.step(rows(16))
    state = {name: value.clone() for name, value in pair.mine.state_dict().items()}
    pair.mine.load_state_dict(state, assign=True)
    pair.mine.zero_grad()
    x = rows(16)
    pair.model(x).square().mean().backward()
    pair.theirs.zero_grad()
    pair.theirs(x).square().mean().backward()
    pair.same_gradients()
    assert pair.lines()["16"].recorded == 2


def test_the_pool_is_given_back() -> None:
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    pair = Pair(Net())
    pair.model.warm_up(rows(7))
    pair.step(rows(128))
    loss = pair.model(rows(64)).square().mean()
    del pair
    torch._dynamo.reset()
    gc.collect()
    loss.backward()
    del loss
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() <= before + 32 * 2**20
