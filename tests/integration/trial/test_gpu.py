"""Trials on a GPU: buckets around Inductor, custom operators on the device, CUDA graphs of many sizes."""

from __future__ import annotations

import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

SIZES = """
import torch
import compilescope

@torch.compile(dynamic=False)
def f(x):
    return (x @ x.t()).relu().sum(1)

for i in range(60):
    compilescope.check("f", f(torch.ones(64 + 16 * (i % 10), 64, device="cuda")))
"""
OPERATOR = """
import torch

@torch.library.custom_op("lab::halve", mutates_args=(), device_types="cuda")
def halve(x: torch.Tensor) -> torch.Tensor:
    x.mul_(0.5)
    return x.clone()

halve.register_fake(torch.empty_like)

@torch.compile
def f(x):
    return halve(x).sin()

for _ in range(3):
    f(torch.ones(8, device="cuda"))
"""
GRAPHS = """
import torch

@torch.compile(mode="reduce-overhead")
def f(x):
    return (x * 2).relu() + 1

for i in range(60):
    torch.compiler.cudagraph_mark_step_begin()
    f(torch.ones(8 + i % 20, 16, device="cuda"))
"""


def test_buckets_around_inductor(recorded, verify):
    _, told = verify(str(recorded(SIZES)), "--apply", "size_drift", "--bucketed", "-n", "1")
    assert [f["verified"] for f in told["findings"]] == ["verified"], told
    assert told["changed"][0]["eager_calls"] == 0
    assert told["results"]["differing"] == []


def test_an_operator_on_the_device(recorded, verify):
    status, told = verify(str(recorded(OPERATOR)), "--check-ops")
    assert (status, [f["rule"] for f in told["findings"]]) == (1, ["custom_op_schema_hides_mutation"])
    assert told["ops"][0]["calls"] == 3


def test_no_graphs_of_many_sizes(recorded, verify):
    _, told = verify(str(recorded(GRAPHS)), "--apply", "cudagraph_rerecorded", "-n", "1")
    (finding,) = told["findings"]
    assert finding["rule"] == "cudagraph_rerecorded"
    assert finding["verified"] in ("verified", "harmful", "no effect")
    assert told["change"] == ["torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True"]
    assert told["notes"] == []
