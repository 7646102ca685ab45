"""What a model refuses is not traced: Dynamo would leave the model to Python for good."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

DIMS = {"x": {0: "n"}}
F = torch.nn.functional


def raises(x: torch.Tensor) -> None:
    if x.shape[0] < 2:
        raise ValueError("at least two rows")


def asserts(x: torch.Tensor) -> None:
    assert x.shape[0] > 1, "at least two rows"


def finds_nothing(x: torch.Tensor) -> Any:
    return {} if x.shape[0] > 1 else {}["rows"]  # type: ignore[var-annotated]


def divides(x: torch.Tensor) -> Any:
    return x.std(0) if x.shape[0] > 1 else 1 / 0


def indexes(x: torch.Tensor) -> Any:
    return x[1]


def convolves(x: torch.Tensor) -> Any:
    return F.conv1d(x.t()[None], torch.ones(4, 4, 2))


def normalizes(x: torch.Tensor) -> Any:
    return F.batch_norm(x, None, None, training=True)


class Net(torch.nn.Module):
    def __init__(self, refuses: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.refuses = refuses

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.refuses(x)
        return self.linear(x).relu()


def counted(model: Any) -> int:
    return sum(count.count for count in model.backend.dispatch_counts())


def assert_served(model: Any, net: torch.nn.Module, sizes: tuple[int, ...]) -> None:
    """By graphs, in both grad modes, each as eager does it."""
    before = counted(model)
    for grad in (True, False):
        for size in sizes:
            x = torch.randn(size, 4)
            with torch.set_grad_enabled(grad):
                torch.testing.assert_close(model(x), net(x))
    assert counted(model) - before == 2 * len(sizes)
    assert model.explain().eager_calls == ()


KINDS = [raises, asserts, finds_nothing, divides, indexes, convolves, normalizes]


@pytest.mark.parametrize("refuses", KINDS)
def test_a_model_that_refuses_one_row_is_served_at_all_other_sizes(refuses: Callable[..., Any]) -> None:
    net = Net(refuses)
    ladder = BucketLadder.pads([8, 16]) | BucketLadder.range(1, 64, hint=20)
    model = bucketed(net, ladder, DIMS, pad=[Pad("x", 0)], inner="aot_eager")
    model.warm_up(torch.randn(5, 4))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_served(model, net, (8, 2, 16, 30, 64))


@pytest.mark.parametrize("refused", [8, 16])
def test_a_rung_that_the_model_refuses_is_said_and_costs_no_other(
    refused: int, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(x: torch.Tensor) -> None:
        if x.shape[0] == refused:
            raise ValueError("not this size")

    net = Net(refuses)
    model = bucketed(net, BucketLadder.pins([8, 16, 32]), DIMS, inner="aot_eager")
    with caplog.at_level(logging.WARNING):
        model.warm_up(torch.randn(3, 4))
    assert f"the model does not run at {{'n': {refused}}}" in caplog.text
    assert "ValueError: not this size" in caplog.text
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_served(model, net, (32, 24 - refused, 5))


def test_an_example_that_the_model_refuses_is_an_error_that_leaves_nothing_behind() -> None:
    def refuses(x: torch.Tensor) -> None:
        if x.shape[0] == 5:
            raise ValueError("not five")

    net = Net(refuses)
    model = bucketed(net, BucketLadder.pins([8, 16]), DIMS, inner="aot_eager")
    with pytest.raises(ValueError, match="not five") as raised:
        model.warm_up(torch.randn(5, 4))
    assert raised.value.__notes__ == ["warm_up ran the model at {'n': 5}; nothing has been traced for it"]
    assert_served(model, net, (8, 16))
    model.warm_up(torch.randn(6, 4))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_served(model, net, (8, 16, 7))


def test_one_row_that_dynamo_cannot_trace_whole_costs_no_other_size(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(x: torch.Tensor) -> None:
        if x.shape[0] == 1:
            torch._dynamo.graph_break()

    net = Net(breaks)
    model = bucketed(net, BucketLadder.range(1, 64, hint=20), DIMS, inner="aot_eager", fullgraph=True)
    with caplog.at_level(logging.WARNING):
        model.warm_up(torch.randn(5, 4))
    assert "Dynamo does not trace the model at {'n': 1}" in caplog.text
    assert_served(model, net, (8, 20, 64))
