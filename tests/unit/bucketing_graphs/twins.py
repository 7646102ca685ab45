"""A trained model and its eager twin, step by step: whatever one returns, adds or writes, both must."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from compilescope.ladder import BucketLadder

PINS = BucketLadder.pins([4, 8])
ROWS = {"x": {0: "n"}}
INPUT = {"input": {0: "n"}}

Loss = Callable[[Any], torch.Tensor]


def summed(outputs: Any) -> torch.Tensor:
    """A loss with tangents that differ from one another; of what can be differentiated alone."""
    tensors = [each for each in tree_leaves(outputs) if isinstance(each, torch.Tensor) and each.requires_grad]
    return torch.stack([(each.abs() if each.is_complex() else each).square().sum() for each in tensors]).sum()


def same(mine: Any, theirs: Any, what: str = "") -> None:
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5, msg=lambda text: f"{what}: {text}")


class Dropped(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(8))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(input * self.w, 0.5)


class Twins:
    """``model`` is ``net`` with graphs, ``twin`` a copy of ``net`` that runs as it is."""

    def __init__(
        self, graphed: Any, net: torch.nn.Module, dims: Any = INPUT, ladder: Any = PINS, **options: Any
    ):
        options.setdefault("fallback", "eager")
        self.net, self.twin = net, copy.deepcopy(net)
        self.model, self.recorder = graphed(net, ladder, dims, **options)
        self.with_layouts = True
        self.held: list[tuple[Any, Any]] = []

    def optimizers(self, make: Callable[[Any], Any]) -> list[Any]:
        return [make(self.net.parameters()), make(self.twin.parameters())]

    def step(self, *inputs: Any, loss: Loss = summed, backward: bool = True) -> list[torch.Tensor]:
        """Forward and backward of both; everything is compared, and compared again by ``still_same``."""
        mine, theirs = copied(inputs), copied(inputs)
        outputs, expected = self.model(*mine), self.twin(*theirs)
        self._hold(outputs, expected, "outputs")
        losses = [loss(outputs), loss(expected)]
        self._hold(losses[0], losses[1], "loss")
        if backward:
            for each in losses:
                each.backward()
            self.compare(mine, theirs)
        return losses

    def compare(self, mine: Sequence[Any] = (), theirs: Sequence[Any] = ()) -> None:
        same(list(map(_value, mine)), list(map(_value, theirs)), "inputs")
        same(grads(mine), grads(theirs), "gradients of inputs")
        assert not self.with_layouts or layouts(grads(mine)) == layouts(grads(theirs))
        same(self.gradients(self.net), self.gradients(self.twin), "gradients of parameters")
        same(dict(self.net.named_buffers()), dict(self.twin.named_buffers()), "buffers")
        same(dict(self.net.named_parameters()), dict(self.twin.named_parameters()), "parameters")

    def still_same(self) -> None:
        """Nothing handed out so far has changed since, but for what eager's has changed too."""
        for mine, theirs in self.held:
            same(mine, theirs, "held")

    def gradients(self, net: torch.nn.Module) -> dict[str, Any]:
        """Zeros where there is none: compiled code adds those where eager adds nothing."""
        return {
            name: torch.zeros_like(each) if each.grad is None else each.grad
            for name, each in net.named_parameters()
            if each.requires_grad
        }

    @property
    def lines(self) -> dict[str, Any]:
        return trained_lines(self.model)

    def replays(self) -> tuple[int, int]:
        """Of all forwards and of all backwards, those of warm-ups too."""
        found = self.lines.values()
        return sum(each.replays for each in found), sum(each.backward_replays for each in found)

    def plainly(self) -> dict[str, int]:
        """Calls of either half that ran as compiled, by reason."""
        return plainly(self.model)

    def _hold(self, mine: Any, theirs: Any, what: str) -> None:
        same(mine, theirs, what)
        assert not self.with_layouts or layouts(mine) == layouts(theirs), what
        self.held.append((mine, theirs))


def trained_lines(model: Any) -> dict[str, Any]:
    """By rung; of an entry that is not the first with its rungs, with its number."""
    found: dict[str, Any] = {}
    for line in model.backend.graphs.report().lines:
        if line.backward_replays is not None:
            found[f"{line.entry}:{line.rung}" if line.rung in found else line.rung] = line
    return found


def plainly(model: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in trained_lines(model).values():
        for reason, count in line.plainly:
            found[reason] = found.get(reason, 0) + count
    return found


def copied(inputs: Sequence[Any]) -> list[Any]:
    """Leaves of their own with the same values and layout."""
    return [
        each.detach().clone().requires_grad_(each.requires_grad) if isinstance(each, torch.Tensor) else each
        for each in inputs
    ]


def grads(inputs: Sequence[Any]) -> list[Any]:
    return [each.grad for each in inputs if isinstance(each, torch.Tensor) and each.grad is not None]


def layouts(values: Any) -> list[Any]:
    """Strides as far as they matter, dtypes and whatever is no tensor's shape."""

    def steps(each: torch.Tensor) -> list[int]:
        return [step for step, size in zip(each.stride(), each.shape, strict=True) if size > 1]

    return [
        (each.dtype, each.requires_grad, steps(each))
        for each in tree_leaves(values)
        if isinstance(each, torch.Tensor)
    ]


def _value(each: Any) -> Any:
    return each.detach().clone() if isinstance(each, torch.Tensor) else each
