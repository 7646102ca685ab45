"""CUDA graphs from what was recorded of each graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compilescope.advice import advise
from compilescope.analysis.report import CudagraphFunction, Cudagraphs, CudagraphSkip, Report

MakeReport = Callable[..., Report]

WARNING = "skipping cudagraphs due to mutated inputs (1 instances)"


def function(recordings: int, **fields: Any) -> CudagraphFunction:
    sizes = [f"{8 * n}x64" for n in range(1, recordings + 1)]
    row: dict[str, Any] = {"mode": "inference", "recordings": recordings, "sizes": sizes, **fields}
    return CudagraphFunction("0/1", "step", "train.py", 7, **row)


def graphs(*functions: CudagraphFunction, **fields: Any) -> Cudagraphs:
    recordings = sum(f.recordings for f in functions)
    row: dict[str, Any] = {"disabled_reason": None, "recordings": recordings, "recording_s": 2.0, **fields}
    return Cudagraphs("p1", True, functions=list(functions), **row)


def test_a_skip_is_told_once_with_its_line_and_how_often(report: MakeReport) -> None:
    skip = CudagraphSkip("mutated inputs (1 instances)", 3, "train.py", 9, "forward")
    rows = report(cudagraphs=[graphs(skips=[skip])])
    (found,) = advise(rows, {"train.py": "\n" * 8 + "buf.add_(1)\n"}, warnings=[WARNING] * 3)
    assert (found.rule, found.place, found.function) == ("cudagraph_skipped", "train.py:9", "forward")
    assert found.cost["cudagraph_skips"].value == 3
    assert found.code == "buf.add_(1)"


def test_a_graph_that_torch_excluded_when_it_compiled(report: MakeReport) -> None:
    rows = report(cudagraphs=[graphs(disabled_reason="cpu device (arg0_1)")])
    (found,) = advise(rows)
    assert (found.rule, found.fix_kind) == ("cudagraph_skipped", "move_to_one_device")


def test_sizes_that_drift_are_told_where_the_graph_comes_from(report: MakeReport) -> None:
    rows = report(
        cudagraphs=[graphs(function(5, replays=10, pool_growth_bytes=4096), function(5, replays=900))]
    )
    (found,) = advise(rows)
    assert (found.rule, found.place, found.confidence) == ("cudagraph_rerecorded", "train.py:7", "high")
    assert found.cost["cudagraph_recordings"].value == 5
    assert found.cost["pool_bytes"].value == 4096
    assert (found.cost["recording_s"].value, found.cost["recording_s"].basis) == (1.0, "estimated")


@pytest.mark.parametrize("row", [function(3, replays=0), function(9, sizes=["8x64"], replays=0)])
def test_few_recordings_or_one_size_are_no_finding(report: MakeReport, row: CudagraphFunction) -> None:
    assert advise(report(cudagraphs=[graphs(row)])) == []


def test_unknown_replays_lower_the_confidence(report: MakeReport) -> None:
    (found,) = advise(report(cudagraphs=[graphs(function(6, replays=None))]))
    assert found.confidence == "medium"
