"""The benchmark of real traffic: its files, its aims, and that each part runs from end to end on a CPU."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import Costs, JointLadder

FOLDER = Path(__file__).parents[2] / "benchmarks" / "bucketing"
FILES = ("bimodal", "lognormal_drift", "batch_length", "packed_sft")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("traffic_files")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("traffic_show")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_costs_are_measured_as_far_as_any_ladder_pads(files: ModuleType, name: str, device: str) -> None:
    file = files.FILES[name]
    sizes = file.sizes(device)
    grid = file.grid(sizes[: len(sizes) // 2], sizes, device)
    for dim in range(len(file.dims)):
        axis = {size[dim] for size in grid}
        assert min(axis) <= min(size[dim] for size in sizes) + file.align
        assert max(axis) >= 1 << (max(size[dim] for size in sizes) - 1).bit_length()
    assert len(grid) == len(set(grid)) <= 80


@pytest.mark.parametrize("name", FILES)
def test_requests_are_of_the_later_half_and_new_sizes_are_new(files: ModuleType, name: str) -> None:
    file = files.FILES[name]
    sizes = file.sizes("cuda")
    late = sizes[len(sizes) // 2 :]
    requests = file.taken(late, file.requests)
    assert len(requests) == file.requests
    at = -1
    for size in requests:  # in their order
        at = late.index(size, at + 1)
    unseen = file.never_seen(late, requests, file.unseen)
    assert len(unseen) == file.unseen
    assert not set(unseen) & set(requests)


def test_a_request_of_ones_alone_has_a_size_that_is_free(files: ModuleType) -> None:
    assert files.with_a_free_size((1, 1)) == (2, 1)
    assert files.with_a_free_size((1, 7)) == (1, 7)
    assert (1, 1) not in files.FILES["batch_length"].sizes("cuda")


def test_only_the_combinations_that_requests_need_are_compiled(files: ModuleType) -> None:
    product = JointLadder(("a", "b"), (BucketLadder.pads([4, 64]), BucketLadder.pads([1, 100, 200])))
    rungs = files.rungs_of(product)
    assert rungs == [(4, 1), (4, 100), (4, 200), (64, 1), (64, 100), (64, 200)]
    assert files.combinations([(2, 150), (3, 101), (64, 1), (65, 1)], rungs) == [(4, 200), (64, 1)]
    assert files.rungs_of(BucketLadder.pads([8, 16])) == [(8,), (16,)]


def test_a_request_goes_where_the_dispatch_sends_it(files: ModuleType) -> None:
    ladder = JointLadder(("a", "b"), combinations=((4, 300), (64, 1), (8, 100), (64, 400)))
    rungs = files.rungs_of(ladder)
    for size, rung in {(3, 50): (8, 100), (3, 101): (4, 300), (1, 1): (64, 1), (9, 2): (64, 400)}.items():
        assert files.rung_of(size, rungs) == ladder.padded_to(size) == rung
    assert files.rung_of((65, 1), rungs) is ladder.padded_to((65, 1)) is None


def test_at_most_eight_graphs_are_planned_for_two_dims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark, files = importlib.import_module("gpu_traffic"), importlib.import_module("traffic_files")
    file = files.FILES["batch_length"]
    sizes = file.sizes("cuda")
    early = sizes[: len(sizes) // 2]
    options = argparse.Namespace(rungs=None, device="cuda")
    rungs = benchmark.planned_rungs(file, sizes, options, Costs.assumed(2))
    compiled = benchmark.compiled(early, rungs)
    assert len(compiled) == 8
    assert all(files.rung_of(size, compiled) == files.rung_of(size, rungs) for size in early)


def test_a_prediction_is_judged_by_its_aims(lines: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    def ladder(predicted: float, measured: float) -> dict[str, Any]:
        return {
            "predicted_us": [predicted] * 3,
            "device_us": [measured] * 5,
            "host_us": [1.0] * 5,
            "graphs": 2,
            "padding": 0.1,
            "unserved_share": 0.0,
            "beyond_share": 0.0,
            "rungs": [(8,), (16,)],
        }

    unpadded = {"device_us": [90.0] * 5, "host_us": [1.0] * 5, "graphs": 9}
    ladders = {
        "planned": ladder(100.0, 99.0),
        "powers of two": ladder(100.0, 126.0),
        "unpadded": unpadded,
    }
    lines.show_prediction({"ladders": ladders})
    shown = capsys.readouterr().out
    assert "within 10%: 1 of 2, worst powers of two 0.794" in shown
    assert "powers of two (126.0 us): met" in shown
    assert "excess over unpadded: 9.0 us, 0.25 of powers of two's" in shown
    ladders["planned"] = ladder(100.0, 127.0)
    lines.show_prediction({"ladders": ladders})
    assert "(126.0 us): missed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "eager cut off after 60 s"),
        ({"warm_up_s": 1.0, "first_done": 7, "so_far_s": 59.0}, "7 of 10 requests of the first pass, 59.0 s"),
        ({"first_done": 7, "first_pass_s": 50.0}, "first pass 50.0 s, cut off after 60 s"),
        ({"first_pass_s": 9.0, "steady_us": [1, 2, 3], "passes_us": [1, 3]}, "2 passes, steady 2 us [1, 3]"),
    ],
)
def test_whoever_is_cut_off_says_how_far_he_came(
    lines: ModuleType, capsys: pytest.CaptureFixture[str], known: dict[str, Any], said: str
) -> None:
    row = {"contestant": "eager", "requests": 10, "error": "cut off after 60 s"} | known
    lines.show_row(row)
    assert said in " ".join(capsys.readouterr().out.split())


def run(tmp_path: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    out = tmp_path / "out.json"
    command = [sys.executable, str(FOLDER / "gpu_traffic.py"), *arguments, "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, json.loads(out.read_text())


@pytest.mark.slow
def test_two_dims_are_predicted_and_measured(tmp_path: Path) -> None:
    shown, result = run(tmp_path, "--part", "predict", "--file", "batch_length", "--predicted", "6")
    (prediction,) = result["predictions"]
    assert set(prediction["ladders"]) >= {"planned", "powers of two", "quantiles", "unpadded"}
    for each in prediction["ladders"].values():
        assert len(each["device_us"]) == 5
    assert "aim: within" in shown


@pytest.mark.slow
def test_training_steps_are_measured(tmp_path: Path) -> None:
    options = ("--part", "traffic", "--file", "packed_sft", "--requests", "10", "--contestants", "eager")
    shown, result = run(tmp_path, *options)
    (row,) = result["rows"]
    assert row["setting"]["trains"]
    assert len(row["passes_us"]) == 5
    assert len(row["unseen"]) > 0
    assert row["largest_error"] == 0
    assert "first call at a size not seen before" in shown
