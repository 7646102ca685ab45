"""Inputs of trained graphs in all layouts, and graphs that are refused: they train as compiled."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .twins import PINS, ROWS, Twins, copied, grads, same


class Net(torch.nn.Module):
    """Saves its input, views of it and something of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> Any:
        y = (x * self.w).sin()
        return y * x.flip(0), x[:, :1] * x[:, -1:], x.t() * self.w[:, None]


LAYOUTS: dict[str, Any] = {
    "transposed": lambda n: torch.randn(8, n).t(),
    "behind others": lambda n: torch.randn(n + 3, 8)[3:],
    "with gaps": lambda n: torch.randn(n, 16)[:, ::2],
    "part of wider rows": lambda n: torch.randn(n, 11)[:, 2:10],
    "double": lambda n: torch.randn(n, 8, dtype=torch.float64),
    "complex": lambda n: torch.randn(n, 8, dtype=torch.complex64),
    "imaginary parts": lambda n: torch.randn(n, 8, dtype=torch.complex64).imag,
}


# Dynamo takes a stride or an offset for a number that varies.
WITH_A_SYMBOL_MORE = {"behind others", "with gaps", "part of wider rows", "imaginary parts"}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_inputs(graphed: Any, name: str, requires_grad: bool) -> None:
    twins = Twins(graphed, Net(), ROWS)
    twins.with_layouts = False
    for size in (8, 4, 8, 4):
        x = LAYOUTS[name](size).requires_grad_(requires_grad)
        mine, theirs = x.detach().requires_grad_(requires_grad), x.detach().requires_grad_(requires_grad)
        outputs, expected = twins.model(mine), twins.twin(theirs)
        same(outputs, expected, "outputs")
        for each in (outputs, expected):
            sum(value.abs().square().sum() for value in each).backward()
        twins.compare()
        same(grads([mine]), grads([theirs]), "gradients of inputs")
    if name in WITH_A_SYMBOL_MORE:
        assert "none: free symbols" in str(twins.model.backend.graphs)
    else:
        assert twins.replays() == (4, 4), str(twins.model.backend.graphs)


def test_the_same_rung_in_another_layout(graphed: Any) -> None:
    """Dynamo makes another graph of it, which has graphs of its own."""
    twins = Twins(graphed, Net(), ROWS)
    for _ in range(2):
        for name in ("double", "transposed", "with gaps", "part of wider rows"):
            x = LAYOUTS[name](8)
            for model in (twins.model, twins.twin):
                sum(value.square().sum() for value in model(x)).backward()
            twins.compare()


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_no_elements(graphed: Any) -> None:
    net = torch.nn.Linear(0, 8)
    twins = Twins(graphed, net, {"input": {0: "n"}})
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 0, requires_grad=True))
    assert twins.replays() == (3, 3)


def test_inputs_that_are_one_tensor(graphed: Any) -> None:
    model, _ = graphed(lambda x, y: (x * y).sin() * x, PINS, {"x": {0: "n"}, "y": {0: "n"}}, fallback="eager")
    for size in (8, 4, 8, 4):
        found = []
        given = torch.randn(size, 8, requires_grad=True)
        for call in (model, lambda x, y: (x * y).sin() * x):
            (x,) = copied([given])
            call(x, x).square().sum().backward()
            call(x, x.detach()[:]).square().sum().backward()
            found.append(x.grad)
        same(*found)


def writes_its_input(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x * w


def draws_for_itself(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x[x[:, 0] > 0] * w


REFUSED: dict[str, Any] = {
    "written in place": writes_its_input,
    "comes from data": draws_for_itself,
    "as_strided": lambda x, w: x.as_strided((4, 8), (8, 1)) * w,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(graphed: Any, reason: str) -> None:
    function = REFUSED[reason]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        model, recorder = graphed(lambda x, w: function(x, w), PINS, ROWS, fallback="eager")
        for size in (8, 4, 8):
            found = []
            given = [torch.randn(size, 8), torch.randn(8, requires_grad=True)]
            for call in (model, function):
                x, w = copied(given)
                call(x, w).square().sum().backward()
                found.append([x, w.grad])
            same(*found)
    assert not recorder.training
    assert reason in str(model.backend.graphs)
