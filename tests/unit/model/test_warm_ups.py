"""Calls that a bucketed model made itself are in no count of the program's calls; all others are."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from model_records import Recorder

SIZED: dict[str, Any] = {"g": 0, "backend": "bucketed-1", "placeholders": [], "sizes": ["s0"]}
PLAIN: dict[str, Any] = {"g": 1, "backend": "bucketed-1", "placeholders": [], "sizes": []}
OTHER: dict[str, Any] = {"g": 2, "backend": "inductor", "placeholders": [], "sizes": []}


def warm_up(recorder: Recorder, *, ends: bool, backend: str = "bucketed-1", **more: Any) -> Recorder:
    return recorder.add("warm_up", {"backend": backend, "ends": ends}, **more)


def graphs(recorder: Recorder) -> Recorder:
    for number, graph in enumerate((SIZED, PLAIN, OTHER)):
        recorder.compiled(number).add("graph", graph, c=(number, 0, 0, 0))
        code = {"outcome": "compiled", "code": 10 + number, "name": "f", "file": 0, "line": 3}
        recorder.add("convert", code, c=(number, 0, 0, 0))
    return recorder


@pytest.fixture
def warmed(recorder: Recorder) -> Recorder:
    """Two calls at 5 and one at 1 are the model's own, one of which a snapshot sees while it goes on."""
    warm_up(recorder, ends=False)
    graphs(recorder).add("runs", g=[[0, 1, {"5": 1}], [2, 4, None]])
    recorder.add("runs", g=[[0, 2, {"5": 2}], [1, 1, None], [2, 6, None]], e=[[10, 3], [12, 2]])
    return warm_up(recorder, ends=True)


def test_what_the_counters_grew_by_is_not_the_programs(warmed: Recorder) -> None:
    warmed.add("runs", g=[[0, 7, {"5": 4, "8": 3}], [1, 3, None]], e=[[10, 4]])
    process = warmed.process()
    assert [graph.calls for graph in process.graphs] == [5, 2, 6]
    assert process.graphs[0].sizes == (((8,), 3), ((5,), 2))
    assert process.eager_calls == {10: 1, 12: 2}


def test_sizes_of_the_warm_up_alone_did_not_come(warmed: Recorder) -> None:
    process = warmed.add("runs", g=[[0, 3, {"5": 2, "8": 1}]]).process()
    assert process.graphs[0].sizes == (((8,), 1),)
    assert process.detail is not None
    told = [each.counts for each in process.detail.snapshots if each.serial == 0]
    assert [sum(counts.values()) for counts in told] == [0, 0, 1]


def test_times_of_sizes_without_a_call_of_the_program_are_left_out(warmed: Recorder) -> None:
    warmed.add("runs", g=[[0, 3, {"5": 2, "8": 1}, {"5": [2, 900.0], "8": [1, 7.5]}]])
    process = warmed.process()
    assert process.detail is not None
    assert process.detail.call_times == {0: {"8": (1, 7.5)}}


def test_a_second_warm_up_is_left_out_too_and_what_came_between_stays(warmed: Recorder) -> None:
    warmed.add("runs", g=[[0, 7, {"5": 7}]])
    warm_up(warmed, ends=False).add("runs", g=[[0, 9, {"5": 9}]])
    warm_up(warmed, ends=True).add("runs", g=[[0, 10, {"5": 10}]])
    assert warmed.process().graphs[0].calls == 6


def test_a_process_that_ended_within_a_warm_up_had_no_call_of_its_own(recorder: Recorder) -> None:
    warm_up(recorder, ends=False)
    graphs(recorder).add("runs", g=[[0, 2, {"5": 2}], [2, 4, None]])
    process = recorder.process(killed=True)
    assert [graph.calls for graph in process.graphs] == [0, 0, 4]
    assert [(each.backend, each.end_ns) for each in process.warm_ups] == [("bucketed-1", None)]


def test_counters_at_a_compile_are_without_them(warmed: Recorder) -> None:
    warmed.add("runs_at_compile", g=[[0, 5]], c=(3, 0, 0, 0))
    process = warmed.process()
    assert process.detail is not None
    assert [calls for _, calls in process.detail.pace.points[0]] == [0, 0, 3]


def test_another_backends_warm_up_takes_nothing_away(recorder: Recorder) -> None:
    warm_up(recorder, ends=False, backend="bucketed-2")
    graphs(recorder).add("runs", g=[[0, 2, {"5": 2}]])
    assert warm_up(recorder, ends=True, backend="bucketed-2").process().graphs[0].calls == 2


@pytest.mark.parametrize("m", [{"ends": True}, {"backend": 3}, {"backend": "bucketed-1", "ends": True}])
def test_an_end_without_a_beginning_is_none(recorder: Recorder, m: dict[str, Any]) -> None:
    graphs(recorder).add("runs", g=[[0, 2, {"5": 2}]]).add("warm_up", m)
    process = recorder.process()
    assert (process.graphs[0].calls, process.warm_ups) == (2, ())


def test_a_thread_may_be_named_within_it(recorder: Recorder) -> None:
    warm_up(recorder, ends=False)
    recorder.add("thread", {"ident": threading.get_ident(), "name": "warmer"})
    (told,) = warm_up(recorder, ends=True).process().warm_ups
    assert told.thread == "warmer"
