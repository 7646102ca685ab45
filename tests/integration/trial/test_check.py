"""The gate over real runs: the same program passes again and again, and later steps count alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compilescope.cli.check import command as check
from compilescope.errors import UsageError
from compilescope.launch import Target, run_program

FAULTY = """
import sys
import torch
import compilescope

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(x) * self.calls
        if y.sum() > 1e9:
            y = y + 1
        return y.relu()

net = torch.compile(Net(), backend="aot_eager")
aside = torch.compile(lambda x: x + 1, backend="aot_eager", dynamic=False)
for step in range(14):
    net(torch.ones(2, 4)).sum().backward()
    if step == 2:
        aside(torch.ones(3))
        aside(torch.ones(4))
    if "told" in sys.argv:
        compilescope.step()
"""
STEADY = """
import torch

@torch.compile(backend="aot_eager", dynamic=False)
def f(x):
    return (x * 2).sum()

for size in (4, 5, 6, 4, 5, 6, 4, LATE, 4):
    f(torch.ones(size))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(code: str, name: str, *args: str) -> str:
        Path("train.py").write_text(code)
        run_program(Target("script", "train.py", args), output=Path(name), say=lambda _: None)
        return name

    return run


def gate(*words: str) -> Result:
    return CliRunner().invoke(check, words, standalone_mode=False)


def passes_again(program, times: int) -> None:
    assert gate(program(FAULTY, "first"), "--write-baseline").return_value == 0
    for number in range(times):
        done = gate(program(FAULTY, f"again-{number}"))
        assert (done.return_value, done.stdout) == (0, "passed: 0 failures, 0 warnings\n")


def test_an_unchanged_program_passes_its_own_baseline(program):
    passes_again(program, 1)


@pytest.mark.slow
def test_an_unchanged_program_passes_ten_times_of_ten(program):
    passes_again(program, 10)


@pytest.mark.parametrize("told", [True, False])
def test_a_recompile_after_the_warm_up_fails_and_one_before_does_not(program, told):
    step = "    compilescope.step()\n" if told else ""
    code = "import compilescope" + STEADY + step
    Path("pyproject.toml").write_text("[tool.compilescope.check]\nrecompiles = 0\nafter-step = 3\n")
    quiet = gate(program(code.replace("LATE", "5"), "quiet"))
    assert quiet.return_value == 0, quiet.stdout
    basis = "compilescope.step()" if told else "calls of f()"
    assert f"counted after step 3 of 9; steps are {basis}" in quiet.stderr
    late = gate(program(code.replace("LATE", "7"), "late"))
    assert late.return_value == 1
    assert "recompiles: 1 is more than 0" in late.stdout
    assert gate("quiet", "--after-step", "0").return_value == 1  # the two of the warm-up
    assert isinstance(gate("quiet", "--after-step", "9").exception, UsageError)


def test_steps_by_calls_tell_what_is_inside_a_call_from_what_comes_after_it(program):
    """`aside` recompiles in step 3, after its call of the net; the net's own recompiles never end."""
    told, counted = program(FAULTY, "told", "told"), program(FAULTY, "counted")
    for step in ("2", "3", "8", "12"):
        texts = [gate(name, "--after-step", step, "--write-baseline").stderr for name in (told, counted)]
        path = Path("compilescope-baseline.json")
        assert f"after step {step} of 14" in texts[0]
        assert f"after step {step} of 14" in texts[1]
        gate(told, "--after-step", step, "--write-baseline")
        base = path.read_text()
        assert ("aside" in base or "lambda" in base) == (step == "2")
        assert gate(counted, "--after-step", step).stdout.endswith("passed: 0 failures, 0 warnings\n")


def test_a_baseline_of_other_steps_is_refused(program):
    name = program(STEADY.replace("LATE", "4"), "run")
    assert gate(name, "--after-step", "3", "--write-baseline").return_value == 0
    assert "after step 3" in str(gate(name).exception)
