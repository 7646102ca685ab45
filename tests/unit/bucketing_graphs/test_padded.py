"""A size between pads replays the graph of the pad above it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad
from compilescope.ladder import BucketLadder

PADS = BucketLadder.pads([4, 8, 16])


@torch.no_grad()
@pytest.mark.parametrize("share_code", [False, True])
def test_padded_sizes_replay_the_rung_above(graphed: Any, share_code: bool) -> None:
    net = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.GELU())
    model, recorder = graphed(net, PADS, {"input": {0: "n"}}, pad=[Pad("input", 0)], share_code=share_code)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert len(recorder.made) == 3
    for size in (3, 4, 5, 8, 9, 16, 11, 2):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 3
    lines = {line.rung: line for line in model.backend.graphs.report().lines}
    # One of the warm-up each.
    assert [lines[rung].replays for rung in ("<=4", "<=8", "<=16")] == [1 + 3, 1 + 2, 1 + 3]
    assert not any(line.recorded for rung, line in lines.items() if rung == "dynamic")


@torch.no_grad()
def test_another_stream_gets_the_padded_tensor(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, recorder = graphed(net, PADS, {"input": {0: "n"}}, pad=[Pad("input", 0)])
    for stream, size in ((7, 3), (8, 5), (7, 2)):
        recorder.stream = stream
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 1


@torch.no_grad()
def test_two_padded_dimensions_of_one_input(graphed: Any) -> None:
    ladders = {"b": BucketLadder.pads([2, 4]), "n": BucketLadder.pads([4, 8])}
    model, recorder = graphed(
        lambda x: x.sin() * 2, ladders, {"x": {0: "b", 1: "n"}}, pad=[Pad("x", 0), Pad("x", 1)]
    )
    model.warm_up(torch.randn(3, 7, 8), grad=False)
    for batch, rows in ((1, 3), (2, 8), (3, 5), (4, 4)):
        x = torch.randn(batch, rows, 8)
        torch.testing.assert_close(model(x), x.sin() * 2)
    assert len(recorder.made) == 4


@torch.no_grad()
def test_a_size_beyond_the_pads_is_served_as_before(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, recorder = graphed(net, PADS, {"input": {0: "n"}}, pad=[Pad("input", 0)])
    for size in (40, 3, 41):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 1


@torch.no_grad()
def test_padding_is_verified_against_eager_with_graphs(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, _ = graphed(net, PADS, {"input": {0: "n"}}, pad=[Pad("input", 0)], verify=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    for size in (3, 8, 13):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    assert "disagree" not in str(model.explain())


@torch.no_grad()
def test_what_is_written_into_a_padded_input_reaches_the_caller(graphed: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    model, recorder = graphed(lambda x: function(x), PADS, {"x": {0: "n"}}, pad=[Pad("x", 0)])
    for size in (3, 8, 5):
        x = torch.randn(size, 8)
        mine, theirs = x.clone(), x.clone()
        torch.testing.assert_close(model(mine), function(theirs))
        torch.testing.assert_close(mine, theirs)
    assert not recorder.made


@torch.no_grad()
def test_the_table_says_which_rungs_have_graphs(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, recorder = graphed(net, PADS, {"input": {0: "n"}}, pad=[Pad("input", 0)])
    model(torch.randn(8, 8))
    recorder.fails = True
    model(torch.randn(4, 8))
    rows = {line.split()[0]: line for line in str(model.explain()).splitlines() if line.startswith("  ")}
    assert rows["<=8"].endswith("CUDA graph")
    assert "no CUDA graph: recording failed: RuntimeError" in rows["<=4"]
    assert "graph" not in rows["<=16"]
    assert "graph" not in rows["dynamic"]
