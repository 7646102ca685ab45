"""A warm-up's own graphs are not refused by a limit for accidents, and what has no graph is said."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

DIMS = {"x": {0: "n"}}
LADDER = BucketLadder.pins([16, 32]) | BucketLadder.range(1, 64, hint=20)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.linear(x).relu())


def counted(model: Any) -> int:
    return sum(count.count for count in model.backend.dispatch_counts())


STATES = list(itertools.product((True, False), (None, torch.bfloat16, torch.float16)))


@contextmanager
def state(model: Any, training: bool, autocast: torch.dtype | None) -> Iterator[None]:
    model.train(training)
    with torch.autocast("cpu", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
        yield


def test_every_state_that_is_warmed_up_has_its_graphs() -> None:
    net = Net()
    model = bucketed(net, LADDER, DIMS, inner="aot_eager")
    for each in STATES:
        with state(model, *each):
            done = model.warm_up(torch.randn(5, 4))
        assert done.compiled == 8
        assert done.without_graph == ()
    assert len(model.backend.events()) > torch._dynamo.config.recompile_limit
    before = counters["stats"]["unique_graphs"]
    for each in STATES:
        with state(model, *each):
            for size, grad in itertools.product((16, 5, 1), (True, False)):
                x = torch.randn(size, 4)
                with torch.set_grad_enabled(grad):
                    output, expected = model(x), net(x)
                assert output.dtype == expected.dtype
                torch.testing.assert_close(output, expected, rtol=0.05, atol=0.05)
    assert counted(model) == len(STATES) * 6
    assert counters["stats"]["unique_graphs"] == before
    text = str(model.explain())
    assert "train, grad, autocast cpu bfloat16; train, no grad, autocast cpu float16" in text
    assert "eagerly" not in text


class Three(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
        return self.linear(a).relu(), self.linear(b).sigmoid(), self.linear(c)


def test_ones_of_three_names_leave_room_for_gradients() -> None:
    net = Three()
    model = bucketed(
        net,
        {name: BucketLadder.pads([4, 8]) for name in "ABC"},
        {"a": {0: "A"}, "b": {0: "B"}, "c": {0: "C"}},
        pad=[Pad(name, 0) for name in "abc"],
        inner="aot_eager",
        only=[{"A": 8, "B": 8, "C": 8}],
    )
    model.warm_up(torch.randn(3, 4), torch.randn(5, 4), torch.randn(6, 4))
    before = counters["stats"]["unique_graphs"]
    for sizes in itertools.product((8, 1), repeat=3):
        for grad in (True, False):
            arguments = [torch.randn(size, 4) for size in sizes]
            with torch.set_grad_enabled(grad):
                outputs = model(*arguments)
            torch.testing.assert_close(outputs, net(*arguments))
    assert counted(model) == 16
    assert counters["stats"]["unique_graphs"] == before


def test_what_comes_after_the_limit_runs_as_without_a_ladder_and_is_counted() -> None:
    net = Net()
    model = bucketed(net, LADDER, DIMS, inner="aot_eager")
    for each in STATES[:3]:
        with state(model, *each):
            model.warm_up(torch.randn(5, 4))
    model.train()
    served = counted(model)
    x = torch.randn(16, 4, requires_grad=True)  # a guard of every graph wants it without
    torch.testing.assert_close(model(x), net(x))
    assert counted(model) == served
    assert model.explain().eager_calls == (("train, grad", 1),)
    assert "1 call ran eagerly outside every graph: train, grad" in str(model.explain())
    torch.testing.assert_close(model(x.detach()), net(x))
    assert counted(model) == served + 1


def test_a_state_that_gets_no_graph_is_said(caplog: pytest.LogCaptureFixture) -> None:
    model = bucketed(Net(), LADDER, DIMS, inner="aot_eager")
    x = torch.randn(16, 4)
    with torch._dynamo.config.patch(recompile_limit=1):
        with torch.no_grad():
            model(x)
        model(x)  # one more than the limit: Dynamo compiles this code no more
        with caplog.at_level(logging.WARNING):
            done = model.warm_up(torch.randn(5, 4))
        model(x)
    assert done.without_graph == ("train, grad",)
    assert str(done).endswith("no graph in: train, grad")
    assert "makes no graph of the model in the state 'train, grad'" in caplog.text
    text = str(model.explain())
    assert "warmed up: train, no grad\n" in text
    assert "no graph after a warm-up: train, grad" in text
    assert "2 calls ran eagerly outside every graph: train, grad" in text


def test_a_function_has_no_training_state() -> None:
    model = bucketed(lambda x: x * 2, BucketLadder.pins([16]), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(5, 4))
    assert model.explain().warmed == (("no grad", True), ("grad", True))
    torch._dynamo.reset()
    assert model.explain().warmed == ()


class Branch(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y * 2 if x.shape[0] > 24 else y


def test_a_second_state_has_both_sides_of_a_branch_too() -> None:
    net = Branch()
    model = bucketed(net, BucketLadder.pins([16, 32]), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(5, 4))
    model.eval()
    model.warm_up(torch.randn(5, 4))
    with torch.compiler.set_stance("fail_on_recompile"):
        for size, grad in itertools.product((16, 32), (True, False)):
            x = torch.randn(size, 4)
            with torch.set_grad_enabled(grad):
                torch.testing.assert_close(model(x), net(x))


def test_what_an_interrupted_warm_up_left_is_named_until_it_goes_on() -> None:
    built = []

    def inner(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        built.append(graph)
        if len(built) == 2:
            raise KeyboardInterrupt
        return graph.forward

    model = bucketed(Net(), BucketLadder.pins([16, 32]), DIMS, inner=inner)
    with pytest.raises(KeyboardInterrupt):
        model.warm_up(torch.randn(5, 4), grad=False)
    (entry,) = model.explain().entries
    assert entry.pending == ("32", "dynamic")
    text = str(model.explain())
    assert text.count("not compiled yet") == 3
    assert "2 rungs are not compiled yet: warm_up compiles them, or goes on where it stopped" in text
    assert "warmed up" not in text
    model.warm_up(torch.randn(5, 4), grad=False)
    assert "not compiled yet" not in str(model.explain())
    assert model.explain().warmed == (("train, no grad", True),)


def test_rungs_that_wait_for_a_warm_up_are_named_before_it() -> None:
    model = bucketed(Net(), BucketLadder.pins([16]), DIMS, inner="aot_eager", build="warm_up")
    with torch.no_grad():
        model(torch.randn(16, 4))
    assert model.explain().entries[0].pending == ("16", "dynamic")
