"""Damaged logs: each damage is named with its place, and nothing else is lost."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compilescope.recording import Recording, open_recording
from compilescope.recording import source as source_module

Damage = tuple[str, str]


def damages(recording: Recording) -> list[Damage]:
    assert recording.damage == [], "a process has it, where there is one"
    entries = [entry for process in recording.processes for entry in process.damage]
    return sorted((entry.kind, entry.where) for entry in entries)


def code_texts(recording: Recording) -> list[str | None]:
    return [
        p.text(r.p) for p in recording.processes for r in p.records(("artifact",)) if r.m["name"] == "code"
    ]


def bad_json(content: bytes) -> bytes:
    header, rest = content.split(b"\n", 1)
    return header[:-10] + b"\n" + rest


def other_payload(content: bytes) -> bytes:
    return content.replace(b"\tcode 2", b"\tchanged 2")


def no_payload(content: bytes) -> bytes:
    return content.split(b"\n", 1)[0] + b"\n"


def unannounced(content: bytes) -> bytes:
    return content.replace(b"has_payload", b"has_nothing")


def bad_header(content: bytes) -> bytes:
    return b"X" + content[1:]


def invalid_utf8(content: bytes) -> bytes:
    return content.replace(b"\tcode 2", b"\tcode \xff\xfe 2")


def noise_before(content: bytes) -> bytes:
    return b"Traceback (most recent call last):\n" + content


def twice(content: bytes) -> bytes:
    return content + content


def array(content: bytes) -> bytes:
    header = content.split(b"\n", 1)[0]
    return header[: header.index(b"{")] + b"[1, 2, 3]\n"


def zeros(content: bytes) -> bytes:
    return b"\0" * len(content) + b"\n"


@pytest.mark.parametrize(
    ("change", "kind", "shift", "survives"),
    [
        (bad_json, "bad-json", 0, False),
        (other_payload, "payload-hash", 0, True),
        (no_payload, "payload-missing", 0, True),
        (unannounced, "payload-unannounced", 0, True),
        (bad_header, "bad-header", 0, False),
        (invalid_utf8, "payload-hash", 0, True),
        (noise_before, "foreign-line", 0, True),
        (twice, "duplicate-record", 1, True),
        (array, "not-an-object", 0, False),
        (zeros, "foreign-line", 0, False),
    ],
)
def test_one_damaged_record_among_three(
    log: Any, tmp_path: Path, change: Callable[[bytes], bytes], kind: str, shift: int, survives: bool
) -> None:
    for number in (1, 2, 3):
        log.artifact("code", f"code {number}\nend", number)
    start, end = log.offsets[1:3]
    whole = log.content
    log.content = whole[:start] + change(whole[start:end]) + whole[end:]
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert damages(recording) == [(kind, f"t.log:{start + shift * (end - start)}")]
    texts = code_texts(recording)
    assert len(texts) == 3 if survives else 2
    assert (texts[0], texts[-1]) == ("code 1\nend", "code 3\nend")


@pytest.mark.parametrize(
    ("cut", "kind"),
    [(0.1, "cut-record"), (0.6, "cut-record"), (0.97, "payload-cut"), (0.86, "payload-missing")],
)
def test_the_last_record_is_cut(log: Any, tmp_path: Path, cut: float, kind: str) -> None:
    log.artifact("code", "code 1").artifact("code", "second code, somewhat longer")
    start = log.offsets[1]
    length = len(log.content) - start
    size = {0.86: log.content.index(b"\n", start) + 1 - start}.get(cut, int(length * cut))
    log.content = log.content[: start + size]
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert damages(recording) == [(kind, f"t.log:{start}")]
    assert not recording.processes[0].complete


def test_what_a_collector_may_do_without_harm(small_log: Any, tmp_path: Path) -> None:
    expected = [
        (record.k, record.c)
        for record in open_recording(small_log.write(tmp_path / "t.log")).processes[0].records()
    ]
    for name, changed in {
        "crlf": small_log.content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
        "blank lines": small_log.content.replace(b"\n\t\treturn", b"\n\n\t\treturn").replace(
            b"\nV", b"\n\n\nV"
        ),
    }.items():
        (tmp_path / "u.log").write_bytes(changed)
        [process] = open_recording(tmp_path / "u.log").processes
        assert [(record.k, record.c) for record in process.records()] == expected, name
        texts = [process.text(record.p) for record in process.records(("artifact",))]
        assert texts[0] == "def f():\n\treturn 1\n\nend", name


def test_two_processes_of_one_pid_are_told_apart(log: Any, tmp_path: Path) -> None:
    log.string(0, "/lib.py").string(1, "/first.py").start(0, file=1)
    log.string(0, "/lib.py").string(1, "/second.py").start(0, file=1)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert [process.file(1) for process in recording.processes] == ["/first.py", "/second.py"]
    assert [process.id for process in recording.processes] == ["pid77", "pid77-2"]
    assert damages(recording) == [("several-processes", f"t.log:{log.offsets[3]}")]


def test_the_version_before_a_second_string_table_is_the_second_process_s(log: Any, tmp_path: Path) -> None:
    for version, path in [("2.12.0", "/a.py"), ("2.13.0", "/b.py")]:
        log.artifact("torch_version", json.dumps({"pytorch_version": version}))
        log.string(0, "/lib.py").string(1, path).start(0, file=1)
    processes = open_recording(log.write(tmp_path / "t.log")).processes
    assert [(p.head["versions"]["torch"], p.file(1)) for p in processes] == [
        ("2.12.0", "/a.py"),
        ("2.13.0", "/b.py"),
    ]
    assert [[r.k for r in p.records()] for p in processes] == [["artifact", "dynamo_start"]] * 2


def test_processes_of_several_pids_are_told_apart(log: Any, tmp_path: Path) -> None:
    log.string(0, "/a.py", pid=1).string(0, "/b.py", pid=2).start(0, pid=1).start(0, pid=2)
    first, second = open_recording(log.write(tmp_path / "t.log")).processes
    assert (first.file(0), second.file(0)) == ("/a.py", "/b.py")
    assert [record.c for record in second.records()] == [(0, 0, 0, 0)]


def test_interleaved_ranks_are_told_apart(log: Any, tmp_path: Path) -> None:
    log.string(0, "/a.py").start(0, rank=0).start(0, rank=1).start(1, rank=0).start(1, rank=1)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert [(p.head["rank"], p.file(0)) for p in recording.processes] == [(0, "/a.py"), (1, "/a.py")]
    assert [[r.c for r in p.records()] for p in recording.processes] == [[(0, 0, 0, 0), (1, 0, 0, 0)]] * 2
    assert [kind for kind, _ in damages(recording)] == ["several-ranks"]


def test_a_rank_that_appears_later_is_the_same_process(log: Any, tmp_path: Path) -> None:
    log.string(0, "/a.py").start(0).start(1, rank=0).start(2)
    [process] = open_recording(log.write(tmp_path / "t.log")).processes
    assert process.head["rank"] == 0
    assert len(list(process.records())) == 3


def test_a_forked_child_is_served_from_its_parents_table(log: Any, tmp_path: Path) -> None:
    log.string(0, "/lib.py").string(1, "/train.py").start(0, file=1).write(tmp_path / "parent.log")
    child = type(log)().start(0, file=1, pid=78).string(2, "/child.py", pid=78).start(1, file=2, pid=78)
    child.write(tmp_path / "child.log")
    recording = open_recording(tmp_path)
    by_pid = {process.head["pid"]: process for process in recording.processes}
    assert [by_pid[78].file(n) for n in (0, 1, 2)] == ["/lib.py", "/train.py", "/child.py"]
    assert damages(recording) == []
    alone = open_recording(tmp_path / "child.log")
    assert alone.processes[0].file(1) is None
    assert damages(alone) == [("strings-missing", "child.log:0")]


def test_of_two_possible_parents_that_disagree_none_names_a_frame(log: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        type(log)().string(0, f"/{name}.py").start(0).write(tmp_path / f"{name}.log")
    type(log)().start(0, pid=78).write(tmp_path / "child.log")
    recording = open_recording(tmp_path)
    child = next(process for process in recording.processes if process.head["pid"] == 78)
    assert child.file(0) is None
    assert damages(recording) == [("strings-missing", "child.log:0")]


@pytest.mark.parametrize(
    ("event", "payload", "kind"),
    [
        ({"chromium_event": {}}, '{"name": broken', "bad-chromium"),
        ({"chromium_event": {}}, '{"name": "x", "ph": "E", "ts": 1e999}', "bad-chromium"),
        ({"artifact": {"name": "z", "encoding": "base64"}}, "aGk=", "unknown-encoding"),
        ({"str": ["/a.py"]}, None, "bad-field"),
        ({"str": ["/a.py", 10**12]}, None, "bad-field"),
        ({"dynamo_start": {}, "frame_id": "0"}, None, "bad-field"),
        ({"frame_id": 1}, None, "no-event"),
    ],
)
def test_events_that_make_no_sense(
    log: Any, tmp_path: Path, event: dict[str, Any], payload: str | None, kind: str
) -> None:
    log.string(0, "/a.py").start(0).add(event, payload).start(1)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert damages(recording) == [(kind, f"t.log:{log.offsets[2]}")]
    assert sum(record.k == "dynamo_start" for record in recording.processes[0].records()) >= 2


def test_values_python_writes_but_json_does_not_know(log: Any, tmp_path: Path) -> None:
    log.add({"dynamo_start": {"stack": [{"line": 1, "name": "f", "filename": -1}]}})
    log.add({"compilation_metrics": {"a": float("nan"), "b": None, "fail_reason": "<script>"}})
    recording = open_recording(log.write(tmp_path / "t.log"))
    [process] = recording.processes
    metrics = list(process.records())[1].m
    assert str(metrics["a"]) == "nan"
    assert "b" not in metrics
    assert process.file(-1) is None
    assert damages(recording) == []


def test_phases_without_an_end_or_a_begin_are_counted(log: Any, tmp_path: Path) -> None:
    log.phase("E", "a", 1.7e15).phase("B", "b", 1.7e15)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert [kind for kind, _ in damages(recording)] == ["unmatched-phases"]
    assert [record.k for record in recording.processes[0].records()] == ["open"]


def test_a_damaged_gzip_file_is_read_as_far_as_it_goes(small_log: Any, tmp_path: Path) -> None:
    packed = gzip.compress(small_log.content * 50)
    for name, content, kind in [
        ("cut", packed[: len(packed) // 2], "packed-cut"),
        ("bad", packed[:-8] + b"12345678", "packed-bad"),
        ("tail", packed + b"garbage", "packed-bad"),
    ]:
        path = tmp_path / f"{name}.log.gz"
        path.write_bytes(content)
        recording = open_recording(path)
        assert kind in {k for k, _ in damages(recording)}, name
        assert any(True for _ in recording.processes[0].records())


def test_a_gzip_bomb_is_given_up(small_log: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_BOMB_BYTES", 1 << 20)
    (tmp_path / "t.log.gz").write_bytes(gzip.compress(small_log.content + b"\tx" * (20 << 20)))
    recording = open_recording(tmp_path / "t.log.gz")
    assert "bomb" in {kind for kind, _ in damages(recording)}
    assert json.dumps([process.id for process in recording.processes]) == '["pid77"]'
