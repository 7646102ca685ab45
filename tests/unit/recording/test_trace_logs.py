"""Real logs read completely, and what is particular to their grammar."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compilescope.errors import RecordingError, RecordingNotFound
from compilescope.recording import Record, open_recording
from compilescope.recording.process import ProcessRecording

LOGS = Path(__file__).parent / "logs"


def only_process(path: Path) -> ProcessRecording:
    [process] = open_recording(path).processes
    return process


def compiles(process: ProcessRecording) -> set[tuple[Any, ...]]:
    return {(r.ca, *(r.c or ())) for r in process.records(("dynamo_start",)) if r.c and r.c[2] == 0}


@pytest.mark.parametrize(
    ("name", "count", "epochs", "complete"),
    [
        ("h200-torch211-llama_train", 3, 1, True),
        ("h200-torch211-maxautotune", 6, 6, False),
        ("h200-torch211-cudagraph", 3, 1, True),
        ("cpu-torch213-train", 38, 1, True),
    ],
)
def test_real_logs_are_read_completely(name: str, count: int, epochs: int, complete: bool) -> None:
    recording = open_recording(LOGS / f"{name}.log.zst")
    [process] = recording.processes
    assert process.kind == "torch_trace"
    assert len(compiles(process)) == count
    assert {c[4] for c in compiles(process)} == set(range(epochs))
    for record in process.records():
        assert record.p is None or process.text(record.p) is not None
    assert recording.damage == process.damage == []
    assert process.complete is complete


def test_breaks_and_refusals_of_a_real_log() -> None:
    process = only_process(LOGS / "cpu-torch213-train.log.zst")
    names = Counter(record.m["name"] for record in process.records(("artifact",)))
    assert names["dynamo_graph_break_reason"] == 19
    started = {c[1:3] for c in compiles(process)}
    measured = {record.c[:2] for record in process.records(("compilation_metrics",)) if record.c}
    assert len(measured - started) == 2
    assert process.head["versions"] == {"torch": "2.13.0+cpu"}
    starts = [record.m["stack"][-1] for record in process.records(("dynamo_start",))]
    assert {process.file(frame["filename"]) for frame in starts} == {"/home/user/project/train.py"}


def test_what_a_killed_process_was_doing() -> None:
    process = only_process(LOGS / "h200-torch211-maxautotune.log.zst")
    [open_phases] = process.records(("open",))
    assert open_phases.stack is not None
    assert open_phases.stack[0][0] == "dynamo"


def test_payloads_come_back_byte_for_byte(small_log: Any, tmp_path: Path) -> None:
    process = only_process(small_log.write(tmp_path / "t.log"))
    artifacts = list(process.records(("artifact",)))
    assert [process.text(r.p) for r in artifacts] == ["def f():\n\treturn 1\n\nend", "x\r\ny", ""]
    assert process.damage == []


def test_phases_and_true_time(small_log: Any, tmp_path: Path) -> None:
    process = only_process(small_log.write(tmp_path / "t.log"))
    [phases] = process.records(("phases",))
    assert phases.x == {"t0": 1_700_000_000_000_000, "rows": [["dynamo", 0, 5, 0]]}
    assert phases.t is not None
    assert abs(phases.t / 1e9 - 1.7e9) < 1000


def test_text_of_a_collector_before_the_header(small_log: Any, tmp_path: Path) -> None:
    lines = small_log.content.split(b"\n")
    prefixed = b"\n".join(b"pod-3 | " + line if line.startswith(b"V") else line for line in lines)
    (tmp_path / "t.log").write_bytes(prefixed)
    assert kinds(only_process(tmp_path / "t.log").records()) == kinds(
        only_process(small_log.write(tmp_path / "u.log")).records()
    )


def kinds(records: Any) -> list[str]:
    return [record.k for record in records if isinstance(record, Record)]


@pytest.mark.parametrize("members", [1, 3])
def test_gzip_in_one_or_several_members(small_log: Any, tmp_path: Path, members: int) -> None:
    size = len(small_log.content) // members + 1
    parts = [small_log.content[i : i + size] for i in range(0, len(small_log.content), size)]
    (tmp_path / "t.log.gz").write_bytes(b"".join(map(gzip.compress, parts)))
    process = only_process(tmp_path / "t.log.gz")
    artifacts = [process.text(record.p) for record in process.records(("artifact",))]
    assert artifacts == ["def f():\n\treturn 1\n\nend", "x\r\ny", ""]
    assert process.damage == []


def test_a_folder_of_ranks(log: Any, tmp_path: Path) -> None:
    for rank in (1, 0):
        part = type(log)().string(0, f"/r{rank}.py", rank=rank).start(0, rank=rank)
        part.write(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log")
    (tmp_path / "train.log").write_text("epoch 1 loss 0.3\n")
    processes = open_recording(tmp_path).processes
    assert [(p.head["rank"], p.file(0)) for p in processes] == [(0, "/r0.py"), (1, "/r1.py")]
    assert [p.id for p in processes] == ["rank0-pid77", "rank1-pid77"]


def test_epochs_after_reset(log: Any, tmp_path: Path) -> None:
    log.start(0).start(0, 1).start(1).start(0).start(0, 1)
    process = only_process(log.write(tmp_path / "t.log"))
    epochs = [record.c[3] for record in process.records() if record.c]
    assert epochs == [0, 0, 0, 1, 1]


def test_unknown_events_and_keys_are_kept(log: Any, tmp_path: Path) -> None:
    log.add({"brand_new": {"a": 1}}, "hello", frame_id=0, frame_compile_id=2, also="this")
    log.add({"old": "text"})
    process = only_process(log.write(tmp_path / "t.log"))
    new, old = process.records()
    assert (new.k, new.m, new.x, new.c) == ("brand_new", {"a": 1}, {"also": "this"}, (0, 2, 0, 0))
    assert process.text(new.p) == "hello"
    assert old.m == {"value": "text"}


def test_what_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "dedicated_log_torch_trace_x.log").touch()
    (tmp_path / "notes.txt").write_text("not a log\n" * 10)
    with pytest.raises(RecordingNotFound):
        open_recording(tmp_path / "missing")
    for name in ("empty.log", "dedicated_log_torch_trace_x.log", "notes.txt"):
        with pytest.raises(RecordingError, match=name):
            open_recording(tmp_path / name)
    with pytest.raises(RecordingError):
        open_recording(Path("/dev/null"))
