"""``compilescope ladder REC --measure``: the recorded program's own graph is timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import placeholders, shape_env_of, symbols_of
from compilescope.bucketing.inner import InnerCompiler
from compilescope.bucketing.measure import Measured, measure

PROGRAM = """
import sys, torch
table = torch.nn.Embedding(7, 8)
layer = torch.nn.Linear(8, 8)
@torch.compile(backend="aot_eager", dynamic={dynamic})
def step(ids, scale):
    return (layer(table(ids)) * scale).relu().sum()
for number in range({calls}):
    size = (6, 9, 14)[number % 3]
    loss = step(torch.randint(0, 7, (size,)), torch.ones(size, 1))
    loss.backward()
open("ended", "a").write("x")
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "compilescope", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("dynamic", ["None", "False"])
def test_the_graph_of_the_recorded_program_is_timed_and_the_program_ended(
    tmp_path: Path, dynamic: str
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(dynamic=dynamic, calls=60))
    assert run(tmp_path, "run", "-q", "-o", "r.compilescope", "train.py").returncode == 0
    words = ["ladder", "r.compilescope", "--measure", "--save-cost", "cost.json", "--emit", "json"]
    done = run(tmp_path, *words, "--points", "3", "--", "train.py")
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    assert study["costs"]["static"] == "measured"
    assert study["costs"]["seconds_known"]
    assert "forward and backward of the captured graph on cpu with aot_eager" in study["notes"][0]
    cost = json.loads((tmp_path / "cost.json").read_text())
    assert [point["size"] for point in cost["static"]] == [6, 9, 14]
    assert [point["size"] for point in cost["dynamic"][0]["points"]] == [6, 9, 14]
    assert (tmp_path / "ended").read_text() == "x"  # by the recorded run; the measuring one was ended
    again = run(tmp_path, "ladder", "r.compilescope", "--cost", "cost.json", "--emit", "json")
    assert json.loads(again.stdout)["plan"] == study["plan"]


def test_a_program_without_that_graph_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(dynamic="None", calls=12))
    assert run(tmp_path, "run", "-q", "-o", "r.compilescope", "train.py").returncode == 0
    (tmp_path / "other.py").write_text("import torch\nimport torch._dynamo\nprint('hello')\n")
    done = run(tmp_path, "ladder", "r.compilescope", "--measure", "--", "other.py")
    assert done.returncode == 2
    assert "never compiled such a graph" in done.stderr
    (tmp_path / "broken.py").write_text("import torch\nraise SystemError('no luck')\n")
    done = run(tmp_path, "ladder", "r.compilescope", "--measure", "--", "broken.py")
    assert done.returncode == 2
    for words in (["--measure"], ["--", "other.py"], ["--save-cost", "x.json"]):
        assert run(tmp_path, "ladder", "r.compilescope", *words).returncode == 2
    assert not os.path.lexists(tmp_path / "x.json")


def captured(function, *examples: torch.Tensor, sizes, hint, inner: str = "aot_eager") -> Measured:  # type: ignore[no-untyped-def]
    found: list[Measured] = []

    def backend(module, inputs):  # type: ignore[no-untyped-def]
        holders = placeholders(module)
        env = shape_env_of(holders)
        graph = CapturedGraph.of(
            module, holders, inputs, env, torch._guards.CompileContext.current_compile_id()
        )
        symbols = symbols_of(holders)[:1]
        found.append(measure(graph, InnerCompiler(inner), inputs, symbols, sizes, hint, rounds=4))
        return module.forward

    torch._dynamo.reset()
    for example in examples:
        torch._dynamo.mark_dynamic(example, 0)
    torch.compile(function, backend=backend)(*examples)
    return found[0]


def test_both_artifacts_are_sampled_by_turns_at_every_size() -> None:
    found = captured(
        lambda x: (x @ x.new_ones(8, 8)).relu(), torch.randn(6, 8), sizes=[(16,), (40,)], hint=(16,)
    )
    assert (found.device, found.basis, found.backward) == ("cpu", "calls", False)
    for rows in (found.static, found.dynamic):
        assert [each.sizes for each in rows] == [(16,), (40,)]
        assert all(len(each.samples_us) == 4 and each.problem is None for each in rows)
        assert all(each.compile_s and min(each.samples_us) > 0 for each in rows)


def test_gradients_are_part_of_a_call_and_reach_no_parameter() -> None:
    layer = torch.nn.Linear(8, 8)
    found = captured(lambda x: layer(x).sum(), torch.randn(6, 8), sizes=[(16,)], hint=(16,))
    assert found.backward
    assert found.static[0].samples_us
    assert layer.weight.grad is None


def test_what_cannot_be_made_or_run_is_named_and_the_rest_is_timed() -> None:
    def picky(graph, arguments):  # type: ignore[no-untyped-def]
        shapes = [tuple(a.shape) for a in arguments if isinstance(a, torch.Tensor)]
        if shapes[0][0] == 40:
            raise RuntimeError("not this size\nsecond line")
        return graph.forward

    found = captured(lambda x: x.relu(), torch.randn(6, 8), sizes=[(16,), (40,)], hint=(16,), inner=picky)  # type: ignore[arg-type]
    assert found.static[0].samples_us
    assert found.static[1].problem == "RuntimeError: not this size"
    assert not found.static[1].samples_us
