"""Verdicts on real runs of small programs."""

from __future__ import annotations

from .conftest import CORPUS

SIZES = """
import torch
from compilescope import steps

@torch.compile(backend="eager")
def f(x):
    return (x * 2).sum()

for i in range(40):
    value = f(torch.ones(4 if i % 2 else 5 + i % 3, 3))
    steps.check("sum", value)
    steps.step()
"""

CHEATING = """
import torch
from compilescope import steps

@torch.compile(backend="eager")
def f(x):
    with torch.no_grad():
        y = x * 2
    print("y")
    return y.sum()

for i in range(8):
    steps.check("sum", f(torch.ones(3)))
"""

SLOW_TO_COMPILE = """
import sys
import time
import torch

@torch.compile(backend="eager")
def f(x):
    return x + 1

for i in range(30):
    time.sleep(0.002)
    f(torch.ones(3))
print("output of the program", sys.argv[1])
"""


def test_a_setting_is_verified(recorded, verify):
    recording = recorded(SIZES)
    status, told = verify(str(recording), "--apply", "all", "-n", "1", "--", "train.py")
    assert told["change"] == ["torch.compiler.config.dynamic_sources=L['x']:0"]
    assert [(f["rule"], f["verified"], f["is_fix"]) for f in told["findings"]] == [
        ("last_partial_batch", "verified", True)
    ]
    assert told["before"][0]["recompiles"] == 1
    assert told["changed"][0]["recompiles"] == 0
    assert told["changed"][0]["steps_basis"] == "compilescope.step()"
    assert told["changed"][0]["steps"] == 39
    assert told["results"]["text"] == "results equal (40 values compared)"
    assert status == 0


def test_an_edit_that_changes_results_is_harmful(recorded, verify, tmp_path):
    recording = recorded(CHEATING)
    (tmp_path / "train.py").write_text(CHEATING.replace('    print("y")\n', "").replace("x * 2", "x * 3"))
    status, told = verify(str(recording), "-n", "1", "--", "train.py")
    assert told["before"][0]["break_events"] == 1
    assert told["changed"][0]["break_events"] == 0
    (finding,) = told["findings"]
    assert finding["rule"] == "print_in_compiled_region"
    assert finding["verified"] == "harmful"
    assert "sum, value 1: 6.0 became 9.0" in finding["reason"]
    assert status == 1


def test_against_eager(verify, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SLOW_TO_COMPILE)
    recording = CORPUS / "recordings" / "10_batch_size_drift.zip"
    kept = tmp_path / "kept"
    settings = (
        "--set",
        "torch._dynamo.config.no_such_setting=1",
        "--set",
        "torch._dynamo.config.recompile_limit=2",
    )
    words = ("--against", "eager", *settings, "-n", "1", "--keep", str(kept), "--", "train.py", "--lr")
    _, told = verify(str(recording), *words)
    (note,) = told["notes"]
    assert "no_such_setting could not be set" in note
    assert told["eager"][0]["graphs"] == 0
    assert told["compiled"][0]["graphs"] == 1
    assert told["steps"] == 30
    assert told["steps_basis"] == "calls of f"
    assert 0.002 < told["eager_step_s"]["value"] < 1
    assert 0.002 < told["compiled_step_s"]["value"] < 1
    assert told["compile_s"] > 0
    assert (kept / "eager-1.log").read_text() == "output of the program --lr\n"
