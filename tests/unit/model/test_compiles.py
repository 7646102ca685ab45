"""Records of compiles: attempts fold, epochs keep ids apart, backward time lands on its forward."""

from __future__ import annotations

import threading

from model_records import FakeLog, Recorder, record

from compilescope.model import CompileId, Process
from compilescope.model._process import ProcessBuilder


def _built(log: FakeLog) -> Process:
    builder = ProcessBuilder(log)
    for item in log.records():
        builder.add(item)
    return builder.finish()


def test_restarts_of_one_compile_are_one_compile(recorder: Recorder) -> None:
    recorder.add("dynamo_start", {"stack": []}, c=(0, 0, 0, 0))
    recorder.add("dynamo_start", {"stack": []}, c=(0, 0, 1, 0))
    recorder.add("compilation_metrics", {"co_name": "f", "has_guarded_code": True}, c=(0, 0, 1, 0))
    (compiled,) = recorder.process().compiles.values()
    assert compiled.started
    assert compiled.compiled
    assert str(compiled.id) == "0/0"


def test_the_same_number_in_another_epoch_is_another_compile(recorder: Recorder) -> None:
    process = recorder.compiled(0).compiled(0, epoch=1).process()
    assert [id_.epoch for id_ in process.compiles] == [0, 1]


def test_a_raw_log_has_a_new_epoch_where_a_first_attempt_repeats_a_number() -> None:
    starts = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 0), (0, 1, 0)]
    process = _built(FakeLog([record("dynamo_start", c) for c in starts]))
    assert list(process.compiles) == [
        CompileId(0, 0, 0),
        CompileId(0, 0, 1),
        CompileId(1, 0, 0),
        CompileId(1, 0, 1),
    ]


def test_a_refused_compile_takes_its_name_from_the_conversion(recorder: Recorder) -> None:
    file = recorder.writer.file_id("/home/user/train.py")
    reason = "Dynamo recompile limit exceeded\n  Explanation: ..."
    recorder.add("compilation_metrics", {"fail_type": "Unsupported", "fail_reason": reason}, c=(0, 8, 0, 0))
    convert = {
        "name": "f",
        "file": file,
        "line": 3,
        "code": 0,
        "outcome": "limit",
        "call": [[file, 9, "main"]],
    }
    recorder.add("convert", convert, c=(0, 8, 0, 0))
    (compiled,) = recorder.process().compiles.values()
    assert compiled.refused
    assert not compiled.started
    assert compiled.code is not None
    assert compiled.code.function == "f"


def test_a_long_failure_text_is_read_from_the_pack(recorder: Recorder) -> None:
    reason = "x" * 5000
    recorder.add("compilation_metrics", {"fail_type": "Unsupported", "fail_reason": reason}, c=(0, 0, 0, 0))
    (compiled,) = recorder.process().compiles.values()
    assert compiled.fail_reason == reason


def test_backward_time_is_added_to_its_forward_even_after_a_reset(recorder: Recorder) -> None:
    recorder.compiled(0)
    recorder.add("bwd_compilation_metrics", {"duration_us": 250_000}, c=(0, 0, 0, 1))
    (compiled,) = recorder.process().compiles.values()
    assert compiled.wall_s == 0.5
    assert compiled.backward_s == 0.25


def test_a_thread_ident_has_the_name_it_had_when_the_compile_began(recorder: Recorder) -> None:
    ident = threading.get_ident()
    for number, name in enumerate(("trainer", "scorer")):
        recorder.add("thread", {"ident": ident, "name": name}).compiled(0, number)
    assert [c.thread for c in recorder.process().compiles.values()] == ["trainer", "scorer"]


def test_reasons_are_a_list_or_bare_text(recorder: Recorder) -> None:
    artifact = {"name": "recompile_reasons", "encoding": "json"}
    recorder.add("artifact", artifact, c=(0, 1, 0, 0), payload="0/0: n == 2")
    recorder.add("artifact", artifact, c=(0, 2, 0, 0), payload='["0/1: n == 3", "0/0: n == 2"]')
    found = {str(c.id): c.reasons for c in recorder.process().compiles.values()}
    assert found == {"0/1": ("0/0: n == 2",), "0/2": ("0/1: n == 3", "0/0: n == 2")}


def test_records_of_a_compiled_autograd_frame_agree_on_its_id(recorder: Recorder) -> None:
    recorder.writer.record("dynamo_start", {"m": {"stack": []}}, c=(1, 0, 0, 0), ca=0)
    recorder.add("graph", {"g": 0, "ops": 3, "placeholders": [], "sizes": []}, c=(1, 0, 0, 0))
    process = recorder.process()
    assert [str(graph.compile) for graph in process.graphs] == ["!0/1/0"]
