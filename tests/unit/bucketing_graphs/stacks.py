"""What the tests of split rungs split, and where."""

from __future__ import annotations

from typing import Any

import torch

from compilescope.ladder import BucketLadder

PINS = BucketLadder.pins([4, 8, 16])
ROWS = {"x": {0: "n"}}
INPUT = {"input": {0: "n"}}


def stack(layers: int = 2) -> torch.nn.Module:
    parts = [torch.nn.Linear(8, 8)]
    for _ in range(layers):
        parts += [torch.nn.GELU(), torch.nn.Linear(8, 8)]
    return torch.nn.Sequential(*parts)


def lines(model: Any) -> dict[str, Any]:
    return {line.rung: line for line in model.backend.graphs.report().lines}
