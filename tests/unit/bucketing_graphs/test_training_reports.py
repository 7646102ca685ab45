"""What is told about trained graphs: the text, the events, what explain makes of them."""

from __future__ import annotations

from typing import Any

import torch

from compilescope.bucketing.graphs.training import GraphedTraining, TrainingSession
from compilescope.bucketing.halves import Half
from compilescope.observer import GraphRecorded, GraphSkipped

from .host import HostRecorder
from .twins import Twins

STEP = 8 * 8 * 4  # bytes of x, of y and of the tangents at eight rows
GRADIENTS = (8 * 8 + 8) * 4


def told(twins: Twins, kind: Any) -> list[Any]:
    return [each for each in twins.model.backend.events() if isinstance(each, kind)]


def test_the_text(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    twins.model.warm_up(torch.randn(7, 8))
    for size in (8, 4, 8):
        twins.step(torch.randn(size, 8))
    assert str(twins.model.backend.graphs).splitlines()[1:] == [
        "  entry 0, 4: 1 recorded, 1 replays",
        "  entry 0, 8: 1 recorded, 1 replays",
        "  entry 1, 4: 1 recorded as 2 graphs, 2 replays and 2 of its backward",
        "  entry 1, 8: 1 recorded as 2 graphs, 3 replays and 3 of its backward",
    ]
    told = str(twins.model.explain())
    assert told.count("CUDA graph\n") == told.count("CUDA graphs of forward and backward\n") == 2


def test_bytes_are_those_of_one_step(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    losses = [twins.step(torch.randn(8, 8), backward=False) for _ in range(3)]
    for mine, theirs in losses:
        mine.backward()
        theirs.backward()
    # Once in, once out; the tangents, what the backward reads of the input, the gradients.
    assert twins.lines["8"].copied_bytes == 2 * STEP + 2 * STEP + GRADIENTS
    recorded = told(twins, GraphRecorded)
    assert [each.replay_bytes for each in recorded][-1] == twins.lines["8"].copied_bytes
    assert all(each.graphs == 1 and each.pool_bytes > 0 for each in recorded)
    report = twins.model.backend.graphs.report()
    assert report.graphs == len(recorded)
    assert report.pool_bytes == recorded[-1].pool_bytes
    assert report.buffer_bytes == 3 * STEP


def test_failures(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    twins.step(torch.randn(8, 8))
    (recorder,) = twins.recorder.training
    losses = twins.step(torch.randn(4, 8), backward=False)
    recorder.fails = True
    for each in losses:
        each.backward()
    twins.compare()
    (skipped,) = told(twins, GraphSkipped)
    assert (skipped.rung, skipped.reason) == (
        "4",
        "backward: recording failed: RuntimeError: operation not permitted when stream is capturing",
    )
    assert "no CUDA graph: backward: recording failed: RuntimeError" in str(twins.model.explain())
    assert (
        "1 recorded, 1 replays and 0 of its backward, 1 calls not replayed: backward: recording failed"
        in str(twins.model.backend.graphs)
    )


class Drawing:
    """Stands for a half that draws from a generator of its own, as one with a checkpoint does on a GPU."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)
        self.current_callable = lambda inputs: (inputs[0] + torch.rand(4, generator=inputs[1]), inputs[0])


def test_generators_are_drawn_from_as_compiled_code_does() -> None:
    forward, backward = Drawing(), Drawing()
    session = TrainingSession(HostRecorder, lambda: False)
    rung = GraphedTraining(
        "4",
        lambda x: forward.current_callable([x, forward.generator])[0],
        (Half(forward, is_backward=False), Half(backward, is_backward=True)),
        1,
        (),
        (),
        torch.device("cpu"),
        session,
        lambda *_: None,
    )
    expected = torch.rand(3, 4, generator=torch.Generator().manual_seed(0))
    for row in expected:
        torch.testing.assert_close(rung(torch.zeros(4)), row)
        drawn = backward.current_callable([torch.zeros(4), backward.generator])
        torch.testing.assert_close(drawn[0], row)
    assert "random generator" in str(rung.given_up)
    assert rung.replays == rung.backward_replays == 0


def test_a_reset_forgets_the_pools(graphed: Any) -> None:
    twins = Twins(graphed, torch.nn.Linear(8, 8))
    twins.step(torch.randn(8, 8))
    torch._dynamo.reset()
    report = twins.model.backend.graphs.report()
    assert (report.lines, report.pool_bytes, report.buffer_bytes) == ((), 0, 0)
    twins.step(torch.randn(8, 8))
    assert twins.replays() == (1, 1)
