"""What autograd lets a caller do around a compiled call: hooks, checkpoints, threads, its own compiler."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from .twins import PINS, ROWS, Twins, copied, grads, plainly, same, summed

NO_LEAF = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


def net() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))


class Moving:
    """Hooks on saved tensors that give back what was packed, elsewhere or as it was."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted
        self._seen = 0

    def pack(self, saved: torch.Tensor) -> torch.Tensor:
        self._seen += 1
        return saved.clone() if self._wanted(self._seen) else saved

    def hooks(self) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(self.pack, lambda packed: packed)


MOVED: dict[str, Any] = {
    "all": lambda number: True,
    "none": lambda number: False,
    "some": lambda number: number % 2 == 0,
    "later ones": lambda number: number > 8,
}


@pytest.mark.parametrize("name", MOVED)
def test_hooks_on_saved_tensors(graphed: Any, name: str) -> None:
    twins = Twins(graphed, net())
    moving = Moving(MOVED[name])
    for size in (8, 4, 8, 8, 4):
        with moving.hooks():
            first = twins.step(torch.randn(size, 8, requires_grad=True), backward=False)
        second = twins.step(torch.randn(size, 8), backward=False)
        for each in (*first, *second):
            each.backward()
        twins.compare()
        twins.held.clear()
        del first, second, each
    twins.still_same()
    assert twins.replays()[0] == 10


def test_saved_on_cpu(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        with torch.autograd.graph.save_on_cpu():
            losses = twins.step(torch.randn(size, 8), backward=False)
        twins.step(torch.randn(size, 8))
        for each in losses:
            each.backward()
        twins.compare()


def test_what_was_saved_is_read_by_others(graphed: Any) -> None:
    twins = Twins(graphed, net())
    stolen: list[torch.Tensor] = []
    for size in (8, 8, 4):
        y = twins.model(torch.randn(size, 8))
        stolen += [each for each in y.grad_fn.saved_tensors if each is not None]
        values = [each.clone() for each in stolen]
        del y
        twins.step(torch.randn(size, 8))
        same(stolen, values, "saved")


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_around_the_model(graphed: Any, reentrant: bool, twice: bool) -> None:
    twins = Twins(graphed, net(), clone_outputs=reentrant)
    for size in (8, 4, 8, 8):
        given = torch.randn(size, 8, requires_grad=True)
        found = []
        for model in (twins.model, twins.twin):
            (x,) = copied([given])
            y = checkpoint(model, x, use_reentrant=reentrant)
            if twice:
                y = y + checkpoint(model, x * 2, use_reentrant=reentrant).square()
            y.square().sum().backward()
            found.append([y.detach(), x.grad])
        same(*found, "outputs and gradients")
        twins.compare()
    assert twins.replays()[0] >= 4
    assert twins.replays()[1] == 4 * (1 + twice)


class Checkpointed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = net(), net()

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        y = checkpoint(self.first, input, use_reentrant=False)
        return checkpoint(self.second, y, use_reentrant=False)


def test_checkpoints_inside_the_model(graphed: Any) -> None:
    twins = Twins(graphed, Checkpointed())
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8, requires_grad=True))
    assert twins.replays() == (3, 3)


def test_hooks_on_parameters_that_step(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for module in (twins.net, twins.twin):
        for each in module.parameters():
            optimizer = torch.optim.SGD([each], lr=0.1)

            def step(parameter: torch.Tensor, optimizer: Any = optimizer) -> None:
                optimizer.step()
                optimizer.zero_grad()

            each.register_post_accumulate_grad_hook(step)
    for size in (8, 4, 8, 8):
        twins.step(torch.randn(size, 8))
    assert twins.replays() == (4, 4)


@NO_LEAF
def test_hooks_on_gradients_and_modules(graphed: Any) -> None:
    twins = Twins(graphed, net())
    kept: list[list[torch.Tensor]] = [[], []]
    for module, model, mine in ((twins.net, twins.model, kept[0]), (twins.twin, twins.twin, kept[1])):
        module[0].weight.register_hook(lambda gradient, mine=mine: mine.append(gradient))
        module[2].bias.register_hook(lambda gradient: gradient * 2)
        model.register_full_backward_hook(lambda _module, given, got, mine=mine: mine.extend(got))
        model.register_forward_hook(lambda _module, given, got, mine=mine: mine.append(got.detach()))
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8, requires_grad=True))
    same(*kept, "seen by hooks")
    assert len(kept[0]) == 9
    assert twins.replays() == (3, 3)


PARTIAL: dict[str, Any] = {
    "one of the outputs": lambda outputs: outputs[0].square().sum(),
    "the other one": lambda outputs: outputs[1].sum(),
    "a part of one": lambda outputs: outputs[0][1, 2],
    "expanded tangents": lambda outputs: outputs[0].sum() + outputs[1].mean(),
    "overlapping tangents": lambda outputs: (
        outputs[0].t().reshape(-1).unfold(0, 4, 2).sum() + outputs[1].sum()
    ),
    "transposed tangents": lambda outputs: (outputs[0].t() @ outputs[1]).square().sum(),
    "no tangent at all": lambda outputs: (outputs[0] * 0).sum(),
}


class TwoOutputs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return self.first(x).tanh(), self.second(x).exp(), x.shape[0]


def test_losses_of_some_outputs_in_turn(graphed: Any) -> None:
    """The layout of the tangents that it was recorded with is not that of later ones."""
    twins = Twins(graphed, TwoOutputs(), ROWS)
    for _ in range(2):
        for loss in (*PARTIAL.values(), summed):
            twins.step(torch.randn(8, 8, requires_grad=True), loss=loss)
            twins.net.zero_grad()
            twins.twin.zero_grad()
    assert twins.replays() == (16, 16)


@pytest.mark.parametrize("name", PARTIAL)
def test_recorded_with_the_loss_of_some_outputs(graphed: Any, name: str) -> None:
    twins = Twins(graphed, TwoOutputs(), ROWS)
    for loss in (PARTIAL[name], summed, PARTIAL[name]):
        twins.step(torch.randn(4, 8, requires_grad=True), loss=loss)
    assert twins.replays() == (3, 3)


def test_two_threads(graphed: Any) -> None:
    twins = Twins(graphed, net())
    twins.model.warm_up(torch.randn(7, 8))
    wrong: list[Any] = []

    def train(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        parameters = list(twins.net.parameters())
        for number in range(40):
            x = torch.randn(4 + 4 * (number % 2), 8, generator=generator)
            expected = torch.autograd.grad(twins.twin(x).square().sum(), list(twins.twin.parameters()))
            found = torch.autograd.grad(twins.model(x).square().sum(), parameters)
            for mine, theirs in zip(found, expected, strict=True):
                if not torch.allclose(mine, theirs, rtol=1e-4, atol=1e-5):
                    wrong.append((mine, theirs))

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert twins.replays() == (122, 122)


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_another_stream(graphed: Any, when: str) -> None:
    twins = Twins(graphed, net())
    twins.step(torch.randn(8, 8))
    (recorder,) = twins.recorder.training
    for size in (8, 4):
        if when == "forward":
            recorder.stream = 8
        losses = twins.step(torch.randn(size, 8), backward=False)
        recorder.stream = 8 if when == "backward" else 7
        for each in losses:
            each.backward()
        twins.compare()
        recorder.stream = 7
        twins.step(torch.randn(size, 8))
    assert twins.plainly()["another stream uses the graphs"] == 2


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_recordings_that_fail(graphed: Any, when: str) -> None:
    twins = Twins(graphed, net())
    twins.step(torch.randn(8, 8))
    (recorder,) = twins.recorder.training
    recorder.fails = when == "forward"
    losses = twins.step(torch.randn(4, 8), backward=False)
    recorder.fails = True
    for each in losses:
        each.backward()
    twins.compare()
    recorder.fails = False
    for size in (4, 8, 4, 8):
        twins.step(torch.randn(size, 8))
    twins.still_same()
    forward, backward = twins.replays()
    assert (forward, backward) == ((3, 3) if when == "forward" else (6, 3))
    told = str(twins.model.backend.graphs)
    assert "recording failed: RuntimeError: operation not permitted" in told
    assert (
        len([each for each in plainly(twins.model) if "recording failed" in each]) >= 1 or when == "forward"
    )


@NO_LEAF
def test_compiled_autograd(graphed: Any) -> None:
    twins = Twins(graphed, net())
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            twins.model(x).square().sum().backward()
        twins.twin(x).square().sum().backward()
        twins.compare()
    assert twins.replays()[0] == 3


def test_functional_call(graphed: Any) -> None:
    module = net()
    model, _ = graphed(
        lambda x, state: torch.func.functional_call(module, state, (x,)), PINS, ROWS, fallback="eager"
    )
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        state = {name: torch.randn_like(each).requires_grad_() for name, each in module.named_parameters()}
        mine = {name: each.detach().clone().requires_grad_() for name, each in state.items()}
        model(x, mine).square().sum().backward()
        torch.func.functional_call(module, state, (x,)).square().sum().backward()
        same(grads(list(mine.values())), grads(list(state.values())))
    assert not plainly(model)
