"""Split rungs that get no graphs, or one for the whole, and operators that fail."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend
from compilescope.errors import UsageError
from compilescope.observer import GraphSkipped

from .stacks import INPUT, PINS, ROWS, lines, stack


@torch.no_grad()
def test_an_operator_that_fails_once(graphed: Any) -> None:
    @torch.library.custom_op("compilescope_graphs::picky", mutates_args=())
    def picky(x: torch.Tensor) -> torch.Tensor:
        if x.max().item() > 1:
            raise ValueError("too large")
        return x.clone()

    picky.register_fake(torch.empty_like)
    ops = ["compilescope_graphs::picky"]
    model, _ = graphed(lambda x: picky(x * 2) + 1, PINS, ROWS, split_ops=ops, pieces=True)
    small = torch.full((8, 8), 0.25)
    for _ in range(2):
        torch.testing.assert_close(model(small), small * 2 + 1)
        with pytest.raises(ValueError, match="too large"):
            model(small + 5)
    assert lines(model)["8"].recorded == 1


@torch.no_grad()
def test_a_capture_that_fails_leaves_the_artifact(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    recorder.fails = True
    x = torch.randn(8, 8)
    for _ in range(2):
        torch.testing.assert_close(model(x), net(x))
    assert not recorder.made
    assert "recording failed" in lines(model)["8"].skipped


@torch.no_grad()
def test_what_was_not_split_is_recorded_whole_and_says_so(graphed: Any) -> None:
    model, recorder = graphed(lambda x: x.sin(), PINS, ROWS, split_ops=["erf"], pieces=True)
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), x.sin())
    assert [tape.captures for tape in recorder.made] == [1]
    assert "not split: it has none of the operators to split at" in lines(model)["8"].note
    assert "1 recorded, 1 replays, whole, not split: it has none" in str(model.backend.graphs)


@torch.no_grad()
def test_what_was_not_split_and_cannot_be_recorded_has_both_reasons(graphed: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2).sin()

    model, _ = graphed(lambda x: function(x), PINS, ROWS, split_ops=["erf"], pieces=True)
    model(torch.randn(8, 8))
    reasons = [event.reason for event in model.backend.events() if isinstance(event, GraphSkipped)]
    assert any("not split: it has none" in each and "written in place" in each for each in reasons), reasons


@torch.no_grad()
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda x: torch.erf(x.as_strided((2, 2), (1, 2))) + x.sin().as_strided((2, 2), (1, 2)),
            "as_strided",
        ),
        (lambda x: torch.erf(x.mul_(2)).sin(), "written in place"),
        (lambda x: (torch.erf(x).sin(), x.t()), "a view of"),
    ],
)
def test_what_pieces_cannot_be_recorded_for(graphed: Any, function: Any, reason: str) -> None:
    model, recorder = graphed(lambda x: function(x), PINS, ROWS, split_ops=["erf"], pieces=True)
    for size in (8, 4):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x.clone()), function(x.clone()))
    assert not recorder.made
    reasons = [event.reason for event in model.backend.events() if isinstance(event, GraphSkipped)]
    assert any(reason in each for each in reasons), reasons


def test_training_is_refused(graphed: Any) -> None:
    net = stack()
    model, recorder = graphed(net, PINS, INPUT, split_ops=["gelu"], pieces=True)
    model(torch.randn(8, 8)).sum().backward()
    assert not recorder.made
    assert "training" in lines(model)["8"].skipped


def test_pieces_need_operators_to_split_at() -> None:
    with pytest.raises(UsageError, match="there are none"):
        BucketedBackend(PINS, ROWS, cuda_graphs="pieces")
    with pytest.raises(UsageError, match="neither a bool nor"):
        BucketedBackend(PINS, ROWS, cuda_graphs="parts")  # type: ignore[arg-type]
    backend = BucketedBackend(PINS, ROWS, cuda_graphs="pieces", split_ops=["erf"], inner="aot_eager")
    assert backend.graphs is not None
