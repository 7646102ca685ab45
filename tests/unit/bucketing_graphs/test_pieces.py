"""Split graphs under CUDA graphs: recorded whole, or each piece between the operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad
from compilescope.ladder import BucketLadder
from compilescope.observer import GraphRecorded

from .operators import attend, counted, scaled
from .stacks import INPUT, PINS, ROWS, lines, stack


@torch.no_grad()
def test_a_split_rung_is_one_recording(graphed: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8))
    model, recorder = graphed(net, BucketLadder.pins([4, 8]), INPUT, split_ops=["gelu"])
    model.warm_up(torch.randn(7, 8), grad=False)
    assert [each.eager for each in model.backend.splits] == [1, 1, 1]
    assert len(recorder.made) == 2
    for size in (4, 8, 5, 8):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))


@torch.no_grad()
def test_a_graph_for_each_piece(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert [tape.captures for tape in recorder.made] == [3, 3, 3]
    for size in (16, 4, 8, 4, 5, 16):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    report = model.backend.graphs.report()
    assert (report.recorded, report.graphs) == (3, 9)
    assert lines(model)["16"].replays == 3
    # The input, and the results of two operators.
    assert lines(model)["16"].copied_bytes == 3 * 16 * 8 * 4
    assert "16: 1 recorded as 3 graphs, 3 replays" in str(report)
    assert str(report).startswith("9 CUDA graphs")
    events = [event for event in model.backend.events() if isinstance(event, GraphRecorded)]
    assert [(event.rung, event.graphs, event.replay_bytes) for event in events] == [
        ("16", 3, 3 * 16 * 32),
        ("8", 3, 3 * 8 * 32),
        ("4", 3, 3 * 4 * 32),
    ]


@torch.no_grad()
def test_an_operator_that_reads_on_the_host(graphed: Any) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return scaled(x @ w).relu() @ w

    ops = ["compilescope_graphs::scaled"]
    model, recorder = graphed(lambda x, w: function(x, w), PINS, ROWS, split_ops=ops, pieces=True)
    w = torch.randn(8, 8)
    model.warm_up(torch.randn(7, 8), w, grad=False)
    assert len(recorder.made) == 3
    for size in (8, 4, 16, 8):
        x = torch.randn(size, 8) * size
        torch.testing.assert_close(model(x, w), function(x, w))
    assert len(recorder.made) == 3


@torch.no_grad()
def test_an_operator_that_writes_into_what_a_piece_made(graphed: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        q = x.sin()
        out = torch.ones_like(q)
        attend(q, out)
        return out * 2 + q

    ops = ["compilescope_graphs::attend"]
    model, recorder = graphed(lambda x: function(x), PINS, ROWS, split_ops=ops, pieces=True)
    for size in (8, 4, 8, 16, 8):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), function(x))
    assert len(recorder.made) == 3


@torch.no_grad()
@pytest.mark.parametrize("as_buffer", [True, False])
def test_an_operator_that_writes_into_an_argument_does_so_once_a_call(graphed: Any, as_buffer: bool) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor, calls: torch.Tensor) -> torch.Tensor:
            return counted(x.sin(), self.calls if as_buffer else calls).cos()

    net, ops = Net(), ["compilescope_graphs::counted"]
    model, recorder = graphed(net, PINS, ROWS, split_ops=ops, pieces=True)
    for number in range(1, 4):
        x, calls = torch.randn(8, 8), torch.full((1,), 10.0)
        torch.testing.assert_close(model(x, calls), (x.sin() + 1).cos())
        assert calls.item() == (10 if as_buffer else 11)
        assert net.calls.item() == (number if as_buffer else 0)
    assert len(recorder.made) == 1


@torch.no_grad()
def test_an_input_that_is_written_and_lies_in_one_that_is_copied(graphed: Any) -> None:
    def function(x: torch.Tensor, calls: torch.Tensor) -> torch.Tensor:
        y = counted(x.sin(), calls)
        return y + x

    ops = ["compilescope_graphs::counted"]
    model, _ = graphed(lambda x, calls: function(x, calls), PINS, ROWS, split_ops=ops, pieces=True)
    for number in range(4):
        x = torch.randn(8, 8)
        apart = number % 2 == 0
        mine, theirs = x.clone(), x.clone()
        given = [torch.zeros(8) if apart else each[3] for each in (mine, theirs)]
        torch.testing.assert_close(model(mine, given[0]), function(theirs, given[1]))
        torch.testing.assert_close(mine, theirs)
    assert lines(model)["8"].replays == 2
    ((reason, count),) = lines(model)["8"].plainly
    assert "shares its memory with one that is copied" in reason
    assert count == 2


@torch.no_grad()
def test_inputs_for_operators_alone_are_handed_on(graphed: Any) -> None:
    """Not copied, and free to be elsewhere, to overlap themselves and to be new each time."""

    def function(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(x.sin(), x, x, mask).cos()

    dims = {"x": {0: "n"}, "mask": {0: "n", 1: "n"}}
    ops = ["scaled_dot_product_attention"]
    model, recorder = graphed(lambda x, mask: function(x, mask), PINS, dims, split_ops=ops, pieces=True)
    for _ in range(3):
        x, mask = torch.randn(8, 8), torch.randn(8, 1).expand(8, 8)
        torch.testing.assert_close(model(x, mask), function(x, mask))
    assert len(recorder.made) == 1
    assert lines(model)["8"].copied_bytes == 2 * 8 * 8 * 4


@torch.no_grad()
def test_an_operator_first_and_last(graphed: Any) -> None:
    model, recorder = graphed(
        lambda x: torch.erf(torch.erf(x).sin()), PINS, ROWS, split_ops=["erf"], pieces=True
    )
    outputs = []
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        outputs.append((model(x), torch.erf(torch.erf(x).sin())))
    # What an operator makes last is nobody's memory but the caller's.
    for mine, expected in outputs:
        torch.testing.assert_close(mine, expected)
    assert [tape.captures for tape in recorder.made] == [1, 1]
    assert lines(model)["8"].copied_bytes == 8 * 8 * 4


@torch.no_grad()
def test_results_that_are_views_go_on_being_views(graphed: Any) -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        first, second = torch.split(x.sin(), 4, 1)
        return [first, second.cos(), second]

    model, _ = graphed(lambda x: function(x), PINS, ROWS, split_ops=["split", torch.split], pieces=True)
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        mine, expected = model(x), function(x)
        for one, other in zip(mine, expected, strict=True):
            torch.testing.assert_close(one, other)
        assert mine[0].untyped_storage().data_ptr() == mine[2].untyped_storage().data_ptr()
    assert lines(model)["8"].copied_bytes == 8 * 8 * 4


@torch.no_grad()
def test_parameters_at_new_addresses(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), net(x))
    net.load_state_dict(stack().state_dict(), assign=True)
    for _ in range(2):
        torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 2
    assert lines(model)["8"].graphs == 6


@torch.no_grad()
def test_pads_and_cloned_outputs(graphed: Any) -> None:
    net = stack()
    pads = BucketLadder.pads([4, 8, 16])
    model, recorder = graphed(
        net,
        pads,
        INPUT,
        split_ops=["gelu"],
        pieces=True,
        pad=[Pad("input", 0)],
        clone_outputs=True,
        verify=True,
    )
    model.warm_up(torch.randn(7, 8), grad=False)
    kept = []
    for size in (3, 8, 11, 16, 5):
        x = torch.randn(size, 8)
        kept.append((model(x), net(x)))
    for mine, expected in kept:
        torch.testing.assert_close(mine, expected)
    assert len(recorder.made) == 3


def test_autocast(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for size in (8, 4, 8):
            x = torch.randn(size, 8)
            y = model(x)
            assert y.dtype == torch.bfloat16
            torch.testing.assert_close(y, net(x), rtol=0.02, atol=0.02)
    assert len(recorder.made) == 2


def test_under_inference_mode(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            for size in (8, 4, 8):
                x = torch.randn(size, 8)
                torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 4
