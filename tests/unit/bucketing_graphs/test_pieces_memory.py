"""Whose memory the values of split rungs have, and for how long."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import torch

from compilescope.ladder import BucketLadder

from .operators import counted
from .test_pieces import INPUT, PINS, ROWS, lines, stack


@torch.no_grad()
def test_results_share_slots_and_rungs_share_them(graphed: Any) -> None:
    net = stack(6)
    model, _ = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    # One buffer for the input, one for the result of whichever operator ran last.
    assert model.backend.graphs.report().buffer_bytes == 2 * 16 * 8 * 4
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), net(x))


@torch.no_grad()
def test_results_that_are_needed_at_the_same_time_have_slots_of_their_own(graphed: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        first = torch.erf(x.sin())
        second = torch.erf(first.cos())
        third = torch.erf(second + first)
        return third.sin() + second + first

    model, _ = graphed(lambda x: function(x), PINS, ROWS, split_ops=["erf"], pieces=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    for size in (16, 4, 8):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), function(x))
    # The input and three results that live to the end.
    assert model.backend.graphs.report().buffer_bytes == 4 * 16 * 8 * 4


@torch.no_grad()
@pytest.mark.parametrize("op", ["erf", "compilescope_graphs::counted"])
def test_an_output_of_one_call_is_an_argument_of_the_next(graphed: Any, op: str) -> None:
    def function(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        y = torch.erf(x.sin()).cos() * 2
        return y + torch.erf(state).sum(0) if op == "erf" else counted(y, state).sin()

    ladders = {"n": BucketLadder.pins([4, 8, 16]), "m": BucketLadder.pins([3, 4, 8, 16])}
    dims = {"x": {0: "n"}, "state": {0: "m"}}
    ops = ["erf", op]
    model, recorder = graphed(
        lambda x, state: function(x, state), ladders, dims, split_ops=ops, pieces=True, fallback="eager"
    )
    mine, theirs = torch.zeros(3, 8), torch.zeros(3, 8)
    for size in (16, 8, 4, 16, 4, 8, 8, 16, 16):
        x = torch.randn(size, 8)
        before, mine = mine, model(x, mine)
        written, theirs = theirs, function(x, theirs)
        torch.testing.assert_close(mine, theirs)
        if op != "erf":
            torch.testing.assert_close(before, written)
    assert recorder.made
    plainly = {reason for line in lines(model).values() for reason, _ in line.plainly}
    assert all("output of an earlier call" in each for each in plainly)
    assert bool(plainly) == (op != "erf")


@torch.no_grad()
def test_parameters_are_not_kept_alive(graphed: Any) -> None:
    net = stack()

    def function(x: torch.Tensor) -> torch.Tensor:
        return net(x) + net[1](net[0].weight).sum(0)

    model, recorder = graphed(lambda x: function(x), PINS, ROWS, split_ops=["gelu"], pieces=True)
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), function(x))
    old = [weakref.ref(each) for each in net.parameters()]
    net.load_state_dict(stack().state_dict(), assign=True)
    torch.testing.assert_close(model(x), function(x))
    gc.collect()
    assert len(recorder.made) == 2
    assert not any(each() is not None for each in old)


@torch.no_grad()
@pytest.mark.parametrize("warm", [True, False])
def test_two_graphs_in_a_call_share_slots_and_overwrite_nothing(graphed: Any, warm: bool) -> None:
    def broken(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        kept, passed = torch.erf((x @ w).sin()), torch.erf((x @ w).cos())
        torch._dynamo.graph_break()
        return torch.erf((torch.erf(passed) @ w).exp()) * 2 + kept

    model, recorder = graphed(broken, PINS, ROWS, split_ops=["erf"], pieces=True)
    w = torch.randn(8, 8) / 8
    if warm:
        model.warm_up(torch.randn(7, 8), w, grad=False)
    for _ in range(3):
        for size in (8, 4, 16):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x, w), broken(x, w))
    assert len(recorder.made) == 6
    plainly = [line.plainly for line in model.backend.graphs.report().lines]
    assert any(plainly) != warm


@torch.no_grad()
def test_threads_take_turns_where_outputs_are_cloned(graphed: Any) -> None:
    net = stack()
    model, _ = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True, clone_outputs=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    wrong: list[int] = []

    def serve(number: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                x = torch.randn((4, 8, 16)[number], 8)
                if not torch.allclose(model(x), net(x), atol=1e-5):
                    wrong.append(number)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(line.replays for line in lines(model).values()) == 3 + 60
