from __future__ import annotations

from typing import Any

import torch

from compilescope.ladder import BucketLadder
from compilescope.observer import GraphRecorded

PINS = BucketLadder.pins([4, 8])
FLOAT = 4


def test_a_step_copies_its_input_its_result_the_tangent_and_every_gradient(graphed: Any) -> None:
    net = torch.nn.Linear(8, 16)
    model, _ = graphed(net, PINS, {"input": {0: "n"}})
    for _ in range(3):
        model(torch.randn(4, 8)).sum().backward()
    (line,) = (each for each in model.backend.graphs.report().lines if each.backward_replays)
    gradients = sum(parameter.numel() for parameter in net.parameters())
    # The input is saved as the caller's own tensor, so that the backward copies it once more.
    forward, backward = 4 * 8 + 4 * 16, 4 * 16 + 4 * 8 + gradients
    assert line.copied_bytes == FLOAT * (forward + backward)
    assert (line.replays, line.backward_replays, line.graphs) == (3, 3, 2)


def test_recording_again_for_other_layers_and_pools_copies_no_more_in_a_step(graphed: Any) -> None:
    nets = [torch.nn.Linear(8, 8) for _ in range(3)]

    def layer(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (x @ weight).tanh()

    model, _ = graphed(layer, PINS, {"x": {0: "n"}})
    for _ in range(2):
        x = torch.randn(4, 8, requires_grad=True)
        for net in nets:
            x = model(net.weight, x)
        x.sum().backward()
    lines = [each for each in model.backend.graphs.report().lines if each.backward_replays]
    assert sum(line.recorded for line in lines) >= 3
    told = [event for event in model.backend.events() if isinstance(event, GraphRecorded)]
    for line in lines:
        most = max(
            event.replay_bytes for event in told if (event.entry, event.rung) == (line.entry, line.rung)
        )
        assert line.copied_bytes == most
