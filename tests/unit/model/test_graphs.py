"""Graphs and their counters: the last snapshot wins, and a count nobody wrote is unknown, not zero."""

from __future__ import annotations

from typing import Any

from model_records import FakeLog, Recorder, record

from compilescope.model._process import ProcessBuilder

GRAPH: dict[str, Any] = {"g": 0, "backend": "inductor", "ops": 2, "placeholders": [], "sizes": []}


def test_the_last_snapshot_wins(recorder: Recorder) -> None:
    recorder.compiled(0).add("graph", GRAPH, c=(0, 0, 0, 0))
    recorder.add("runs", g=[[0, 3, None]], e=[[5, 1]]).add("runs", g=[[0, 9, None]], e=[[5, 4]])
    process = recorder.process()
    assert [graph.calls for graph in process.graphs] == [9]
    assert process.graphs[0].sizes == ()
    assert process.eager_calls == {5: 4}


def test_sizes_are_tuples_with_the_most_frequent_first_and_the_rest_unnamed(recorder: Recorder) -> None:
    recorder.compiled(0).add("graph", {**GRAPH, "sizes": ["s0", "s1"]}, c=(0, 0, 0, 0))
    recorder.add("runs", g=[[0, 9, {"16,4": 2, "8,4": 6, "other": 1}]])
    assert recorder.process().graphs[0].sizes == (((8, 4), 6), ((16, 4), 2), (None, 1))


def test_a_graph_absent_from_the_counters_of_a_finished_process_was_never_called(recorder: Recorder) -> None:
    process = recorder.compiled(0).add("graph", GRAPH, c=(0, 0, 0, 0)).process()
    assert [graph.calls for graph in process.graphs] == [0]


def test_a_graph_made_after_the_last_snapshot_of_a_killed_process_is_not_counted(recorder: Recorder) -> None:
    recorder.compiled(0).add("graph", GRAPH, c=(0, 0, 0, 0)).add("runs", g=[[0, 3, None]])
    recorder.compiled(1).add("graph", {**GRAPH, "g": 1}, c=(1, 0, 0, 0))
    process = recorder.process(killed=True)
    assert [graph.calls for graph in process.graphs] == [3, None]
    assert not process.complete


def test_a_graph_whose_backend_failed_counts_as_a_graph_that_never_ran(recorder: Recorder) -> None:
    recorder.add("dynamo_start", {"stack": []}, c=(0, 0, 0, 0))
    recorder.add("dynamo_output_graph", {"sizes": {}}, c=(0, 0, 0, 0))
    recorder.add("compilation_metrics", {"fail_type": "BackendCompilerFailed"}, c=(0, 0, 0, 0))
    assert [graph.calls for graph in recorder.process().graphs] == [0]


def test_code_compiled_before_capture_has_a_place_and_calls_since(recorder: Recorder) -> None:
    file = recorder.writer.file_id("/home/user/train.py")
    recorder.add("late", {"name": "f", "file": file, "line": 2, "code": 0, "graphs": 1}, c=(0, 0, 0, 0))
    recorder.add("graph", {"g": 0, "late": True}, c=(0, 0, 0, 0)).add("runs", g=[[0, 4, None]])
    process = recorder.process()
    (compiled,) = process.compiles.values()
    assert compiled.earlier
    assert compiled.code is not None
    assert [(g.calls, g.inherited) for g in process.graphs] == [(4, True)]


def test_a_traced_graph_that_was_handed_over_is_one_graph(recorder: Recorder) -> None:
    recorder.compiled(0).add("dynamo_output_graph", {"sizes": {}}, c=(0, 0, 0, 0))
    assert len(recorder.add("graph", GRAPH, c=(0, 0, 0, 0)).process().graphs) == 1


def test_a_raw_log_counts_graphs_but_no_calls() -> None:
    log = FakeLog([record("dynamo_start", (0, 0, 0)), record("dynamo_output_graph", (0, 0, 0))])
    builder = ProcessBuilder(log)
    for item in log.records():
        builder.add(item)
    assert [graph.calls for graph in builder.finish().graphs] == [None]
