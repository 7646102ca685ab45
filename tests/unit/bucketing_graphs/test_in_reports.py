"""What a recording holds about the CUDA graphs of rungs reaches the report and the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from compilescope.analysis import build_report
from compilescope.ladder import BucketLadder
from compilescope.observer import GraphRecorded, GraphSkipped
from compilescope.recording import Writer, open_recording
from compilescope.views.html import render
from compilescope.views.text._details import _cuda_graph
from compilescope.views.tui.tables.buckets import BUCKETS

RUNG = {"backend": "bucketed-1", "entry": 0, "kind": "pin", "sizes": [["n", 8, 8]], "wall_s": 1.0}


def report_of(tmp_path: Path, events: list[dict[str, Any]]) -> Any:
    root = tmp_path / "rec.compilescope"
    writer = Writer(root, {"argv": ["python", "x.py"], "versions": {"torch": "2.13.0"}})
    writer.record("dynamo_start", {"m": {"stack": []}}, c=(0, 0, 0, 0))
    for event in events:
        writer.record("bucket", {"m": RUNG | event}, c=(0, 0, 0, 0))
    writer.close()
    return build_report(open_recording(root))


def test_recordings_and_skips(tmp_path: Path) -> None:
    recorded = {"event": "GraphRecorded", "rung": "8", "replay_bytes": 256, "pool_bytes": 4096}
    report = report_of(
        tmp_path,
        [
            {"event": "EntryCaptured"},
            {"event": "GraphSkipped", "rung": "16", "reason": "residual guards: a < b"},
            {"event": "RungCompiled", "rung": "8"},
            {"event": "RungCompiled", "rung": "16"},
            recorded,
            recorded | {"pool_bytes": 8192},
        ],
    )
    by_rung = {bucket.rung: bucket for bucket in report.buckets}
    assert by_rung["8"].cuda_graphs == 2
    assert (by_rung["8"].replay_bytes, by_rung["8"].pool_bytes) == (256, 8192)
    assert by_rung["8"].cuda_graph_skip is None
    assert by_rung["16"].cuda_graphs is None
    assert by_rung["16"].cuda_graph_skip == "residual guards: a < b"


@pytest.mark.parametrize("wrong", ["many", None, [1], {"a": 1}])
def test_wrong_types_are_absent(tmp_path: Path, wrong: Any) -> None:
    recorded = {"event": "GraphRecorded", "rung": "8", "replay_bytes": wrong, "pool_bytes": wrong}
    report = report_of(tmp_path, [{"event": "RungCompiled", "rung": "8"}, recorded])
    (bucket,) = [bucket for bucket in report.buckets if bucket.rung == "8"]
    assert bucket.cuda_graphs == 1
    assert bucket.replay_bytes is None


def test_graphs_of_the_pieces(tmp_path: Path) -> None:
    recorded = {"event": "GraphRecorded", "rung": "8", "replay_bytes": 256, "pool_bytes": 4096, "graphs": 5}
    report = report_of(tmp_path, [{"event": "RungCompiled", "rung": "8"}, recorded])
    (bucket,) = [bucket for bucket in report.buckets if bucket.rung == "8"]
    assert (bucket.cuda_graphs, bucket.graphs_each) == (1, 5)
    assert _cuda_graph(bucket) == "CUDA graph, recorded 1 time as 5 graphs, 256 B copied by a replay"
    assert "recorded 1 time as 5 graphs, 256 B copied by a replay" in render(report)


def test_a_recording_of_a_training_step_is_two_graphs(tmp_path: Path) -> None:
    forward = {"event": "GraphRecorded", "rung": "8", "replay_bytes": 256, "pool_bytes": 4096, "graphs": 1}
    backward = forward | {"replay_bytes": 1024, "of_backward": True}
    compiled = {"event": "RungCompiled", "rung": "8"}
    report = report_of(tmp_path, [compiled, forward | {"of_backward": False}, backward])
    (bucket,) = [bucket for bucket in report.buckets if bucket.rung == "8"]
    assert (bucket.cuda_graphs, bucket.graphs_each, bucket.replay_bytes) == (1, 2, 1024)
    told = "recorded 1 time as 2 graphs, 1.0 kB copied by a replay"
    assert told in render(report)
    assert told in dict(BUCKETS.card(bucket).told())["CUDA graph"]


@torch.no_grad()
def test_the_events_come_from_the_backend(graphed: Any) -> None:
    model, _ = graphed(lambda x: x * 2, BucketLadder.pins([4, 8]), {"x": {0: "n"}})
    model.warm_up(torch.randn(7, 8), grad=False)
    events = model.backend.events()
    assert {event.rung for event in events if isinstance(event, GraphRecorded)} == {"4", "8"}
    assert {event.rung for event in events if isinstance(event, GraphSkipped)} == {"dynamic"}
