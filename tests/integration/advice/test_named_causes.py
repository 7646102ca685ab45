"""Real programs whose cause torch names poorly: told by its own name, with counts that were counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.launch import Target, run_program
from compilescope.model import load
from compilescope.recording import open_recording

DECORATED = """
import torch

weights = torch.ones(3)

@torch.compile(backend="eager")
@torch.no_grad()
def update(decay):
    weights.mul_(decay)

def train():
    for step in range(4):
        update(1.0 / (step + 2))

train()
"""
TWO_DECORATED = """
import torch

weights = torch.ones(3)

@torch.compile(backend="eager")
@torch.no_grad()
def grow(x):
    weights.mul_(x)

@torch.compile(backend="eager")
@torch.no_grad()
def shift(x):
    weights.add_(x)

def train():
    for _ in range(3):
        grow(torch.ones(3))
        shift(torch.ones(3))

train()
"""
RECURRENT = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LSTM(4, 4))
torch.compile(model, backend="eager")(torch.ones(2, 3, 4))
"""
CONDITION = """
import torch

steps = [0]

@torch.compile(backend="eager")
def step(x, log):
    x = x * (steps[0] + 1)
    if log:
        print("logged")
    return x + 1

for n in range(12):
    steps[0] = n
    step(torch.ones(3), n == 0)
"""


@pytest.fixture
def examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a program and examines its recording: the report and its findings by rule."""

    def run(text: str):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "program.py").write_text(text)
        recording = tmp_path / "run.compilescope"
        run_program(Target("script", "program.py"), output=recording, say=lambda _: None)
        report, findings = examine(load(open_recording(recording)))
        return report, {finding.rule: finding for finding in findings}

    return run


def test_a_decorated_function_and_its_parameter_have_their_own_names(examined) -> None:
    report, findings = examined(DECORATED)
    assert {row.function for row in report.frames} == {"update"}
    found = findings["float_hyperparameter_python"]
    assert (found.function, found.line) == ("update", 9)
    assert "decay is a Python float" in found.summary
    assert any("decay changed in update()" in sentence for sentence in report.verdict.sentences)


def test_functions_that_share_torchs_wrapper_are_one_cause(examined) -> None:
    report, findings = examined(TWO_DECORATED)
    assert report.totals.recompiles == 1
    assert set(findings) == {"shared_wrapper"}


def test_a_recurrent_layer_is_told_with_the_switch_of_torch(examined) -> None:
    _, findings = examined(RECURRENT)
    found = findings["recurrent_layer"]
    assert (found.file, found.line) == ("program.py", 5)
    assert "torch._dynamo.config.allow_rnn = True" in found.fix


def test_a_line_behind_a_condition_ran_as_often_as_it_was_counted(examined) -> None:
    report, findings = examined(CONDITION)
    (site,) = report.graph_breaks
    assert site.runtime_hits == 1
    assert site.ran_at_least
    (limit,) = report.limit_hits
    assert f"{limit.eager_calls} eager calls may have reached the line or not" in site.runtime_hits_basis
    assert findings["print_in_compiled_region"].cost["breaks_executed"].value == 1
