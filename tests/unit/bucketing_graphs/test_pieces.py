"""Split graphs are recorded whole, the operators between the pieces included."""

from __future__ import annotations

from typing import Any

import torch

from compilescope.ladder import BucketLadder


@torch.no_grad()
def test_a_split_rung_is_one_recording(graphed: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8))
    model, recorder = graphed(net, BucketLadder.pins([4, 8]), {"input": {0: "n"}}, split_ops=["gelu"])
    model.warm_up(torch.randn(7, 8), grad=False)
    assert [each.eager for each in model.backend.splits] == [1, 1, 1]
    assert len(recorder.made) == 2
    for size in (4, 8, 5, 8):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
