"""Records of other kinds, and records that are wrong: nothing is lost silently and nothing raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_records import FakeLog, Recorder, record

from compilescope.model import Location
from compilescope.model._process import ProcessBuilder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KINDS = (
    "dynamo_start",
    "compilation_metrics",
    "bwd_compilation_metrics",
    "dynamo_output_graph",
    "graph",
    "artifact",
    "guard_fail",
    "convert",
    "limit",
    "runs",
    "symbolic_shape_specialization",
    "compiled_autograd_graph",
    "stance",
    "log",
    "lost",
    "source",
    "process",
    "end",
    "compile_target",
    "guards",
    "autotune",
)
NAMES = (
    "stack",
    "call",
    "failed",
    "got",
    "placeholders",
    "sizes",
    "g",
    "break",
    "name",
    "file",
    "line",
    "code",
    "compiled_s",
    "assemblers",
)


def test_an_unknown_kind_is_counted(recorder: Recorder) -> None:
    assert recorder.add("from_the_future", {"x": 1}).add("from_the_future").process().unknown == {
        "from_the_future": 2
    }


def test_a_malformed_record_becomes_a_hole_with_its_place(recorder: Recorder) -> None:
    process = recorder.add("runs", g=[[1]]).compiled(0).process()
    (hole,) = process.holes
    assert hole.kind == "bad_record"
    assert process.id in hole.where
    assert len(process.compiles) == 1


def test_lost_records_keep_the_highest_count_per_reason(recorder: Recorder) -> None:
    recorder.writer.lost("disk full", 3)
    recorder.writer.lost("disk full", 2)
    assert recorder.process().lost["disk full"] >= 3


def test_guard_failures_keep_values_lines_and_modes(recorder: Recorder) -> None:
    file = recorder.writer.file_id("/home/user/train.py")
    guard = {
        "kind": "LENGTH_CHECK",
        "source": "L['h']",
        "code": ["not L['h']"],
        "got": {"t": "list", "len": 1},
        "at": [[file, 8, "f"]],
    }
    m = {
        "entry": "0/0",
        "newest": True,
        "first": "0/0: not h",
        "failed": [guard],
        "state": {"grad_mode": True},
    }
    (failure,) = recorder.add("guard_fail", m, c=(0, 1, 0, 0)).process().guard_failures
    assert failure.guards[0].at == (Location("/home/user/train.py", 8, "f"),)
    assert failure.guards[0].got["len"] == 1
    assert failure.state == {"grad_mode": True}


def test_the_guards_of_a_first_compile_say_which_objects_are_modules(recorder: Recorder) -> None:
    rows = [
        ["L['self']", ["TYPE_MATCH"], "LOCAL_UNSPECIALIZED_NN_MODULE", []],
        ["L['self'].cfg", ["TYPE_MATCH"], "LOCAL_UNSPECIALIZED_NN_MODULE", []],
        ["L['self']._modules['a']", ["TYPE_MATCH"], "LOCAL_UNSPECIALIZED_BUILTIN_NN_MODULE", []],
        ["L['x']", ["TENSOR_MATCH"], "LOCAL", []],
    ]
    recorder.add("guards", {"count": 4}, c=(3, 0, 0, 0), payload=json.dumps(rows))
    recorder.add("guards", {"count": 4}, c=(4, 1, 0, 0), payload=json.dumps(rows))
    assert recorder.process().module_sources == {(0, 3): {"L['self']", "L['self']._modules['a']"}}


def test_interpreter_frames_are_no_part_of_a_stack(recorder: Recorder) -> None:
    boot = recorder.writer.file_id("<frozen runpy>")
    user = recorder.writer.file_id("/home/user/train.py")
    stack = [{"line": 98, "name": "_run", "filename": boot}, {"line": 3, "name": "f", "filename": user}]
    recorder.add("dynamo_start", {"stack": stack}, c=(0, 0, 0, 0))
    (compiled,) = recorder.process().compiles.values()
    assert [place.function for place in compiled.stack] == ["f"]


@pytest.mark.parametrize("kind", KINDS)
@given(
    m=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6),
    x=st.dictionaries(st.sampled_from(NAMES), JSON),
)
def test_no_record_content_makes_reading_raise(kind: str, m: dict[str, Any], x: dict[str, Any]) -> None:
    item = record(kind, (0, 0, 0), m)
    item.x = x
    builder = ProcessBuilder(FakeLog([]))
    builder.add(item)
    builder.finish()


TUNED = {"name": "addmm", "compiled": 20, "compiled_s": 24.5, "assemblers": ["13.0", "12.8"]}


def test_candidates_that_were_compiled_twice_are_read_without_details_too(recorder: Recorder) -> None:
    process = (
        recorder.compiled(0).add("autotune", TUNED, c=(0, 0, 0, 0)).add("autotune", {"name": "mm"}).process()
    )
    (twice,) = process.compiled_twice
    assert str(twice.compile) == "0/0"
    assert (twice.op, twice.candidates, twice.seconds, twice.assemblers) == (
        "addmm",
        20,
        24.5,
        ("13.0", "12.8"),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"assemblers": []},
        {"assemblers": ["13.0"]},
        {"assemblers": "13"},
        {"compiled_s": None},
        {"compiled_s": -1.0},
        {"compiled_s": float("inf")},
        {"compiled_s": "1"},
    ],
)
def test_a_candidate_that_does_not_say_enough_was_not_compiled_twice(
    recorder: Recorder, wrong: dict[str, Any]
) -> None:
    assert recorder.add("autotune", TUNED | wrong).process().compiled_twice == ()
