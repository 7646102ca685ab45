"""What is written is what is read, from the folder and from the zip file."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.recording import Ref, Writer, open_recording, pack_recording
from compilescope.recording.process import ProcessRecording


@pytest.fixture
def written(tmp_path: Path) -> Path:
    root = tmp_path / "run.compilescope"
    writer = Writer(root, {"argv": ["train.py"], "versions": {"torch": "2.13.0"}})
    train = writer.file_id("/home/u/train.py")
    assert writer.record("dynamo_start", {"m": {"stack": [{"line": 3, "filename": train}]}}, c=(0, 1, 0, 2))
    assert writer.record("artifact", {"m": {"name": "z"}}, payload="code " * 100, payload_kind="z")
    assert writer.record("artifact", {"m": {"name": "z"}}, payload="code " * 101, payload_kind="z")
    assert writer.record(
        "metrics", {"m": {"config": "c" * 5000, "none": None}, "call": [[train, 3, "f"]]}, ca=7
    )
    assert writer.record("runs", {"g": [[i, "x" * 9] for i in range(9000)]})
    writer.close()
    return root


@pytest.fixture(params=["folder", "process", "events", "zip"])
def process(request: pytest.FixtureRequest, written: Path) -> ProcessRecording:
    path = written
    if request.param == "zip":
        path = written.with_suffix(".zip")
        pack_recording(written, path)
    elif request.param != "folder":
        path = next(p for p in written.iterdir() if p.is_dir())
        path = path / "events.jsonl" if request.param == "events" else path
    [process] = open_recording(path).processes
    return process


def test_records_come_back_in_order(process: ProcessRecording) -> None:
    records = list(process.records())
    kinds = [record.k for record in records]
    assert kinds == ["head", "name", "dynamo_start", "artifact", "artifact", "metrics", "runs", "end"]
    assert [record.offset for record in records] == sorted({record.offset for record in records})
    assert [record.k for record in process.records()] == kinds
    start = records[2]
    assert start.c == (0, 1, 0, 2)
    assert start.m == {"stack": [{"line": 3, "filename": 0}]}
    assert records[5].ca == 7
    assert records[5].x == {"call": [[0, 3, "f"]]}
    assert process.complete
    assert process.damage == []
    assert process.head["versions"] == {"torch": "2.13.0"}


def test_texts_come_back_wherever_they_lie(process: ProcessRecording) -> None:
    records = list(process.records())
    assert process.text(records[3].p) == "code " * 100
    second = records[4].p
    assert isinstance(second, Ref)
    assert second.dict_offset is not None
    assert process.text(second) == "code " * 101
    config = records[5].m["config"]
    assert isinstance(config, Ref)
    assert process.text(config) == "c" * 5000
    assert "none" not in records[5].m
    assert records[6].x["g"][8999] == [8999, "x" * 9]
    assert process.text("as it is") == "as it is"
    assert process.text(None) is None
    assert process.file(0) == "/home/u/train.py"
    assert process.file(5) is None
    assert process.damage == []


def test_only_the_kinds_asked_for(process: ProcessRecording) -> None:
    assert [record.k for record in process.records(("runs", "end"))] == ["runs", "end"]


def test_equal_payloads_lie_in_the_pack_once(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    for kind in "ab":
        writer.record(kind, payload="same text " * 50)
    writer.close()
    [process] = open_recording(tmp_path / "r").processes
    refs = {record.p for record in process.records() if record.p}
    assert len(refs) == 1


def test_files_are_private(written: Path) -> None:
    [folder] = written.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_nothing_is_created_before_the_first_record(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    writer.file_id("a.py")
    writer.close()
    assert not (tmp_path / "r").exists()
