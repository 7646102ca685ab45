"""Causes without break or recompile, in real programs: suppressed errors, rungs, repeated blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.launch import Target, run_program
from compilescope.model import load
from compilescope.recording import open_recording

SUPPRESSED = """
import torch
import torch._dynamo

torch._dynamo.config.suppress_errors = True

def broken(graph, inputs):
    raise RuntimeError("no kernel for you")

@torch.compile(backend=broken)
def f(x):
    return x + 1

for _ in range(3):
    f(torch.ones(3))
"""
LADDER = """
import torch
from compilescope import BucketLadder, bucketed

class Net(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 24:
            return x * 2
        return x * 3

ladder = BucketLadder.pins([8, 16, 32])
net = bucketed(Net(), ladder, dims={"x": {0: "tokens"}}, inner="aot_eager")
for size in [8] * 4 + [5, 6, 7, 9, 10, 11]:
    net(torch.ones(size, 4))
"""
BLOCKS = """
import time
import torch

def slow(graph, inputs):
    time.sleep(21)
    return graph.forward

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + self.two(self.one(x).relu())

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(6))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

torch.compile(Model(), backend=slow)(torch.ones(2, 4))
"""


@pytest.fixture
def findings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TORCH_COMPILE_JOB_ID", raising=False)

    def of(code: str):
        Path("train.py").write_text(code)
        run_program(Target("script", "train.py"), output=Path("run"), say=lambda _: None)
        report, found = examine(load(open_recording(Path("run"))))
        assert report.recording.exit_status == 0
        return {finding.rule: finding for finding in found}

    return of


def test_an_error_that_was_suppressed(findings):
    found = findings(SUPPRESSED)["suppressed_error"]
    assert (found.line, found.cost["failures"].value) == (10, 1)


def test_rungs_that_are_idle_refused_and_beside_the_traffic(findings):
    found = findings(LADDER)
    assert {"bucket_never_hit", "bucket_refused", "bucket_traffic_outside"} <= set(found)
    outside = found["bucket_traffic_outside"]
    assert (outside.cost["calls_outside"].value, outside.executions) == (6, 6)
    assert "6 of 10 calls came with sizes that are not on the ladder" in outside.summary
    assert "16" in found["bucket_never_hit"].summary
    assert "32" in found["bucket_refused"].summary


@pytest.mark.slow
def test_a_block_compiled_six_times_in_one_graph(findings):
    found = findings(BLOCKS)["same_block_compiled_many_times"]
    assert "6 copies of the same block" in found.summary
    assert found.saving is not None
    assert found.saving.basis.startswith("estimated: ")
