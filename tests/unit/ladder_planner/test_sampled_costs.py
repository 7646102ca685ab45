"""Times of real calls, taken while the program runs, become the costs a ladder is planned from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compilescope.analysis.build import build_report
from compilescope.analysis.call_costs import sampled_costs
from compilescope.analysis.traffic import frame_traffic_of
from compilescope.capture._call_times import CallTimes, device_of, every_n, no_sizes, timing
from compilescope.ladder.planner import Curve
from compilescope.recording import open_recording

PROGRAM = """
import torch
@torch.compile(backend="aot_eager", dynamic=None)
def step(x):
    return (x @ x.new_ones(8, 8)).relu()
for number in range(200):
    step(torch.ones((16, 24, 40)[number % 3], 8))
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "compilescope", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_calls_timed_while_the_program_ran_are_its_costs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run(tmp_path, "run", "-q", "--time-calls", "2", "-o", "r.compilescope", "train.py")
    assert done.returncode == 0, done.stderr
    report = build_report(open_recording(tmp_path / "r.compilescope"))
    (sizes,) = report.sizes
    assert {(each.artifact, *each.values.values()) for each in sizes.times} >= {
        ("dynamic", 24),
        ("dynamic", 40),
    }
    assert 80 <= sum(each.timed for each in sizes.times) <= 100
    assert all(each.median_us > 0 for each in sizes.times)
    costs, (note,) = sampled_costs(report, frame_traffic_of(report))
    assert costs is not None
    assert isinstance(costs.static, Curve)
    assert [point.size for point in costs.static.points] == [16, 24, 40] or len(costs.static.points) == 2
    assert "times of real calls" in note
    (ladder,) = report.ladders
    assert (ladder.unit, ladder.basis) == ("us", "measured")
    shown = run(tmp_path, "ladder", "r.compilescope", "--emit", "json")
    assert json.loads(shown.stdout)["costs"]["unit"] == "us"


MANY_SIZES = """
import torch
@torch.compile(backend="eager", dynamic=True)
def step(x, y):
    return x[1:] + y * 2
for number in range({calls}):
    rows = 100 + number * 7 % 60 + 1000 * (number % 2)
    step(torch.ones(rows, 8), torch.ones(rows - 1, 8))
"""


def test_sizes_that_rarely_come_back_are_taken_together(tmp_path: Path) -> None:
    """All dynamic from the first call: one dimension fixed while tracing, another tied to the first."""
    (tmp_path / "serve.py").write_text(MANY_SIZES.format(calls=120))
    done = run(tmp_path, "run", "-q", "--time-calls", "2", "-o", "r.compilescope", "serve.py")
    assert done.returncode == 0, done.stderr
    report = build_report(open_recording(tmp_path / "r.compilescope"))
    found = frame_traffic_of(report)
    assert (found.traffic.calls, found.traffic.unseen) == (120, 0)
    costs, (note,) = sampled_costs(report, found)
    assert costs is not None
    assert "taken together" in note
    sizes = [point.size for point in costs.static.points]
    assert len(sizes) > 3
    assert min(sizes) >= 1100  # each second call is one of the large ones
    assert max(sizes) < 1160


BUCKETED = """
import torch
from compilescope import BucketLadder, bucketed
from compilescope.bucketing import Pad
class Model(torch.nn.Module):
    def forward(self, x):
        return (x @ x.new_ones(8, 8)).relu()
model = bucketed(Model(), BucketLadder.pads([16, 32]), {"x": {0: "n"}}, pad=[Pad("x", 0)], inner="aot_eager")
model.warm_up(torch.ones(7, 8), grad=False, progress=False)
with torch.no_grad():
    for number in range(120):
        model(torch.ones((5, 16, 30, 32, 40, 60)[number % 6], 8))
"""


def test_calls_that_rungs_served_are_no_calls_of_the_dynamic_artifact(tmp_path: Path) -> None:
    """All sizes are of one symbolic graph; the calls that its warm-up made are not timed either."""
    (tmp_path / "serve.py").write_text(BUCKETED)
    done = run(tmp_path, "run", "-q", "--time-calls", "1", "-o", "r.compilescope", "serve.py")
    assert done.returncode == 0, done.stderr
    report = build_report(open_recording(tmp_path / "r.compilescope"))
    (sizes,) = report.sizes
    padded = {"x.size(0)": 16}, {"x.size(0)": 32}
    assert [(each.artifact, *each.values.values(), each.padded_to, each.timed) for each in sizes.times] == [
        ("dynamic", 40, None, 20),
        ("dynamic", 60, None, 20),
        ("static", 5, padded[0], 20),
        ("static", 16, None, 20),
        ("static", 30, padded[1], 20),
        ("static", 32, None, 20),
    ]
    found = frame_traffic_of(report)
    assert (found.traffic.calls, found.traffic.unseen) == (120, 0)
    costs, (note,) = sampled_costs(report, found)
    assert costs is not None
    assert isinstance(costs.static, Curve)
    assert [point.size for point in costs.static.points] == [16, 32]
    (through,) = costs.dynamic
    assert [point.size for point in through.model.points] == [40, 60]
    assert "static at 2 sizes, dynamic at 2" in note


def test_too_few_timed_calls_are_said_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(MANY_SIZES.format(calls=12))
    run(tmp_path, "run", "-q", "--time-calls", "5", "-o", "r.compilescope", "serve.py")
    shown = run(tmp_path, "ladder", "r.compilescope")
    assert shown.returncode == 0, shown.stderr
    assert "2 calls were timed, too few of similar sizes" in " ".join(shown.stdout.split())


def test_nothing_is_timed_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, every in (("", 0), ("12", 12), ("-3", 0), ("often", 0)):
        monkeypatch.setenv("COMPILESCOPE_TIME_CALLS", text)
        assert every_n() == every
    monkeypatch.delenv("COMPILESCOPE_TIME_CALLS")
    assert every_n() == 0


def test_every_nth_call_is_timed_and_each_is_the_call_itself() -> None:
    times = CallTimes("cpu")
    called: list[int] = []

    def function(number: int) -> int:
        called.append(number)
        return -number

    run = timing(function, times, lambda args: args[0] % 2, 4)
    assert [run(number) for number in range(20)] == [-number for number in range(20)]
    assert called == list(range(20))
    row = times.row()
    assert {key: pair[0] for key, pair in row.items()} == {"1": 5}  # calls 3, 7, 11, ...
    times.clear()
    assert times.row() == {}


def test_an_exception_is_the_program_s_own_and_leaves_no_time() -> None:
    times = CallTimes("cpu")

    def failing() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        timing(failing, times, no_sizes, 1)()
    assert times.row() == {}

    def unhashable(_: object) -> object:
        raise TypeError("no key")

    assert timing(len, times, unhashable, 1)("four") == 4
    assert times.row() == {}


def test_many_sizes_stop_at_a_cap_and_pairs_are_named_as_in_a_snapshot() -> None:
    times = CallTimes("cpu")
    for number in range(600):
        times.call((number, 2), len, ("",))
    assert len(times.row()) == 512
    assert "3,2" in times.row()
    assert device_of({"placeholders": [{"device": "cpu"}, {"kind": "symint"}]}) == "cpu"
    assert device_of({"placeholders": [{"device": "cpu"}, {"device": "cuda:1"}]}) == "cuda"
