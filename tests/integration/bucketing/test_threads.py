"""What other threads compile is no matter of a bucketed model's calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

LADDER = BucketLadder.pins([8, 16])


@contextmanager
def another_thread_compiling() -> Iterator[None]:
    """Within it another thread is in the middle of a compile."""
    begun, may_end = threading.Event(), threading.Event()

    def waits(graph_module: Any, inputs: Any) -> Callable[..., Any]:
        begun.set()
        assert may_end.wait(60)
        return graph_module.forward  # type: ignore[no-any-return]

    other = threading.Thread(
        target=lambda: torch.compile(lambda x: x.sin() + 1, backend=waits)(torch.randn(3))
    )
    other.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        may_end.set()
        other.join()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


@pytest.mark.parametrize("is_module", [True, False])
def test_rungs_serve_while_another_thread_compiles(is_module: bool) -> None:
    net: Any = Net() if is_module else lambda x: (x * 2).relu()
    model = bucketed(net, LADDER, {"x": {0: "n"}}, inner="aot_eager")
    model.warm_up(torch.randn(8, 8))
    with torch.no_grad(), another_thread_compiling():
        for size in (8, 16, 8):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), net(x))
            torch.testing.assert_close(model(x=x), net(x))
    assert sum(count.count for count in model.backend.dispatch_counts() if count.outcome == "exact") == 6


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("by_name", [True, False])
def test_an_export_of_a_bucketed_model_is_that_of_the_model(strict: bool, by_name: bool) -> None:
    net = Net()
    model = bucketed(net, LADDER, {"x": {0: "n"}}, inner="aot_eager")
    model.warm_up(torch.randn(8, 8))
    x = torch.randn(5, 8)
    arguments, kwargs = ((), {"x": x}) if by_name else ((x,), {})
    exported = torch.export.export(model, arguments, kwargs, strict=strict).module()
    torch.testing.assert_close(exported(*arguments, **kwargs), net(x))
    assert sum(count.count for count in model.backend.dispatch_counts()) == 0
