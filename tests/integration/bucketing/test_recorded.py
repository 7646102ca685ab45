"""What a recording says of a ladder agrees with torch's own counters, and padding is in it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.utils import counters

import compilescope.capture
from compilescope.analysis import build_report
from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder
from compilescope.recording import open_recording

DIMS: dict[str, dict[int, str | None]] = {"x": {0: "tokens"}}


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.up = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.up(self.norm(x)).relu()


@contextlib.contextmanager
def recorded(folder: Path) -> Iterator[None]:
    compilescope.capture.attach(folder)
    try:
        yield
    finally:
        compilescope.capture.detach()


def records(folder: Path, kind: str) -> list[Any]:
    return [r for process in open_recording(folder).processes for r in process.records() if r.k == kind]


def rungs_of(folder: Path, model: Any) -> list[Any]:
    """Backends of other tests may be alive still, and are recorded too."""
    report = build_report(open_recording(folder), detail=False)
    return [rung for rung in report.buckets if rung.backend == model.backend.name]


def test_after_a_warm_up_capture_sees_200_calls_and_no_compile(tmp_path: Path) -> None:
    ladder = BucketLadder.pins([16, 24, 32, 48]) | BucketLadder.range(49, 128, hint=96)
    block = Block()
    model = bucketed(block, ladder, DIMS, inner="aot_eager")
    with recorded(tmp_path / "warm"):
        model.warm_up(torch.randn(3, 8))
    before = dict(counters["stats"]), counters["aot_autograd"]["total"]
    sizes = random.Random(1)
    with recorded(tmp_path / "served"):
        for k in range(200):
            x = torch.randn(sizes.choice([16, 24, 32, 48, sizes.randint(49, 128)]), 8)
            with torch.set_grad_enabled(k % 2 == 0):
                output = model(x)
            if output.requires_grad:
                output.sum().backward()
    assert (dict(counters["stats"]), counters["aot_autograd"]["total"]) == before
    assert records(tmp_path / "warm", "graph")
    # Graphs that were there before are named again, as what they are: late.
    assert [r for r in records(tmp_path / "served", "graph") if not r.m.get("late")] == []
    assert records(tmp_path / "served", "convert") == []
    rungs = rungs_of(tmp_path / "served", model)
    assert sum(rung.hits or 0 for rung in rungs if rung.kind in ("pin", "range")) == 200
    assert sum(rung.hits or 0 for rung in rungs if rung.kind in ("dynamic", "eager")) == 0


def test_padding_is_counted_and_what_it_copies(tmp_path: Path) -> None:
    model = bucketed(
        Block(), BucketLadder.pads([16, 32]), DIMS, inner="aot_eager", pad=[Pad("x", 0)], verify=True
    )
    with recorded(tmp_path / "r"):
        model.warm_up(torch.randn(10, 8), grad=False)
        with torch.no_grad():
            for size in (10, 16, 20, 20, 40):
                model(torch.randn(size, 8))
    small, large, dynamic = (rung for rung in rungs_of(tmp_path / "r", model) if rung.kind != "eager")
    assert (small.kind, small.hits, small.padded_rows) == ("pad", 2, 6)
    assert small.padded_share == round(6 / 32, 4)
    assert (large.hits, large.padded_rows, large.padded_share) == (2, 24, 0.375)
    # Each padded call writes the rung's rows once: 8 floats each.
    assert (small.copied_bytes, large.copied_bytes) == (16 * 8 * 4, 2 * 32 * 8 * 4)
    assert small.verified is not None
    assert small.verified < 1e-5
    assert (dynamic.kind, dynamic.hits, dynamic.padded_share) == ("dynamic", 1, None)


def test_a_refused_pad_has_its_reason_and_line(tmp_path: Path) -> None:
    def pooled(x: torch.Tensor) -> torch.Tensor:
        return x.mean(0)  # the line

    model = bucketed(pooled, BucketLadder.pads([16]), DIMS, inner="aot_eager", pad=[Pad("x", 0)])
    with recorded(tmp_path / "r"), torch.no_grad():
        model(torch.randn(10, 8))
    (refused,) = [rung for rung in rungs_of(tmp_path / "r", model) if rung.refused]
    assert refused.refused == "mean over padded rows counts them"
    assert "the line" in refused.user_line
