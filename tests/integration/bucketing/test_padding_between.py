"""What a padded graph shares with others: views of its inputs and outputs, and the graphs behind a break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from padding_setup import SIZES, X0, XM, padded, refusals, served

WEIGHT = torch.nn.Parameter(torch.randn(6, 6))


def scores_both_ways(x: torch.Tensor) -> Any:
    scores = x @ WEIGHT @ x.t()
    return scores, scores.t()


def written_and_seen(x: torch.Tensor) -> Any:
    x.mul_(2)
    return x[1:], x.tanh()


VIEWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "of an input": lambda x: (x.t(), x[1:], x @ WEIGHT),
    "of the input itself": lambda x: (x, x @ WEIGHT),
    "of an output": scores_both_ways,
    "of a written input": written_and_seen,
}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", VIEWS)
def test_gradients_through_views(name: str, check: Any) -> None:
    function = VIEWS[name]
    model = padded(function, X0, fallback="eager")

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: function(x * 1)

    for size in SIZES:
        make = lambda n=size: [torch.randn(n, 6, requires_grad=True)]  # noqa: E731
        check(through(function), through(model), make, [WEIGHT])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def in_three(x: torch.Tensor, m: torch.Tensor) -> Any:
    y = (x @ WEIGHT).relu() + 1
    torch._dynamo.graph_break()
    z = (y * m[:, None]).sum(0)
    torch._dynamo.graph_break()
    return z, y * 2, y.shape[0]


def unmasked(x: torch.Tensor, m: torch.Tensor) -> Any:
    y = x @ WEIGHT + 1
    torch._dynamo.graph_break()
    return y.exp().sum(0), m * 2


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("grad", [False, True])
def test_behind_a_graph_break_what_is_passed_on_is_padded_again(grad: bool, check: Any) -> None:
    model = padded(in_three, XM)
    model.warm_up(torch.randn(5, 6), torch.ones(5, dtype=torch.bool), grad=grad)
    seen = len(model.backend.events())
    with torch.set_grad_enabled(grad):
        for size in SIZES:
            mask = torch.arange(size) % 3 != 1
            check(in_three, model, lambda n=size, m=mask: [torch.randn(n, 6), m], [WEIGHT] if grad else [])
    assert refusals(model) == []
    assert served(model) == {"padded": 6, "exact": 6}
    assert len(model.backend.events()) == seen


def test_behind_a_graph_break_sums_without_a_mask_are_refused(check: Any) -> None:
    model = padded(unmasked, XM)
    with torch.no_grad():
        model.warm_up(torch.randn(5, 6), torch.ones(5, dtype=torch.bool), grad=False)
        check(unmasked, model, lambda: [torch.randn(5, 6), torch.ones(5, dtype=torch.bool)])
    assert {each.reason for each in refusals(model)} == {
        "sum over padded rows needs a mask that makes them 0",
    }
    assert served(model) == {"padded": 1, "dynamic": 1}
