"""Recordings that are damaged, too new, still being written, or packed by another tool."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from compilescope.errors import OutputError, RecordingError, RecordingNotFound, RecordingTooNew
from compilescope.recording import Recording, Writer, open_recording, pack_recording
from compilescope.recording.process_folder import FolderProcess


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "r.compilescope"
    writer = Writer(root, {"argv": ["t.py"]}, rank=3)
    for number in range(5):
        writer.record("a", {"m": {"i": number}}, payload=f"{number} " * 400)
    writer.close()
    return root


def events(root: Path) -> Path:
    return next(root.glob("*/events.jsonl"))


def read(recording: Recording) -> tuple[list[int], list[tuple[str, int]]]:
    """The numbers of the records and, of each damage, kind and offset."""
    [process] = recording.processes
    numbers = [record.m["i"] for record in process.records(("a",)) if process.text(record.p) is not None]
    entries = recording.damage + process.damage
    return numbers, [(entry.kind, int(entry.where.rpartition(":")[2])) for entry in entries]


def test_a_torn_last_line_of_a_dead_process(root: Path) -> None:
    content = events(root).read_bytes()
    end = content.rindex(b'{"k":"end"')
    lines = content[:end].replace(f'"pid":{os.getpid()}'.encode(), b'"pid":999999999')
    events(root).write_bytes(lines + b'{"k":"a","m":{"i"')
    assert read(open_recording(root)) == ([0, 1, 2, 3, 4], [("torn-line", len(lines))])


@pytest.mark.parametrize(
    ("change", "kinds", "numbers"),
    [
        (lambda line: b"\0" * len(line), ["hole"], [0, 1, 3, 4]),
        (lambda line: b"\0" * 100 + line, ["hole"], [0, 1, 2, 3, 4]),
        (lambda line: line[:-9], ["bad-line"], [0, 1, 3, 4]),
        (lambda line: b'"text"', ["bad-line"], [0, 1, 3, 4]),
        (lambda line: line.replace(b'"i":2', b'"i":NaN'), [], [0, 1, 3, 4]),
        (lambda line: line.replace(b'{"$":[', b'{"$":[-'), ["bad-ref"], [0, 1, 3, 4]),
        (lambda line: line.replace(b'{"$":[', b'{"$":[9'), ["payload-missing"], [0, 1, 3, 4]),
        (lambda line: line.replace(b'"t":', b'"t":"soon","old":'), ["bad-field"], [0, 1, 2, 3, 4]),
        (lambda line: line.replace(b'"m":{"i":2}', b'"m":' + b"[" * 9000), ["bad-line"], [0, 1, 3, 4]),
    ],
)
def test_one_damaged_line(
    root: Path, change: Callable[[bytes], bytes], kinds: list[str], numbers: list[int]
) -> None:
    lines = events(root).read_bytes().split(b"\n")
    offset = sum(len(line) + 1 for line in lines[:3])
    lines[3] = change(lines[3])
    events(root).write_bytes(b"\n".join(lines))
    recording = open_recording(root)
    [process] = recording.processes
    found = [
        record.m.get("i")
        for record in process.records(("a",))
        if process.text(record.p) is not None and record.m.get("i") in range(5)
    ]
    assert found == numbers
    assert [entry.kind for entry in process.damage] == kinds
    if kinds and kinds != ["payload-missing"]:
        assert process.damage[0].where == f"{process.id}/events.jsonl:{offset}"
    assert list(process.records())
    assert [entry.kind for entry in process.damage] == kinds


def test_a_changed_byte_in_the_pack(root: Path) -> None:
    pack = next(root.glob("*/payloads.pack"))
    [process] = open_recording(root).processes
    ref = next(process.records(("a",))).p
    assert ref is not None
    content = bytearray(pack.read_bytes())
    content[ref.offset + ref.zlen - 5] ^= 1
    pack.write_bytes(content)
    numbers, damage = read(open_recording(root))
    # The first payload is the dictionary of the others.
    assert numbers == []
    assert {kind for kind, _ in damage} == {"payload-bad"}


def test_without_its_pack_the_records_are_still_there(root: Path) -> None:
    next(root.glob("*/payloads.pack")).unlink()
    recording = open_recording(root)
    assert [record.k for record in recording.processes[0].records()][-1] == "end"
    assert read(recording)[0] == []
    assert {entry.kind for entry in recording.processes[0].damage} == {"unreadable", "payload-missing"}


def test_a_first_line_that_is_lost_costs_only_the_head(root: Path) -> None:
    content = events(root).read_bytes()
    events(root).write_bytes(content[content.index(b"\n") + 1 :])
    recording = open_recording(root)
    assert read(recording) == ([0, 1, 2, 3, 4], [("no-head", 0)])
    assert recording.processes[0].head == {"rank": 3, "pid": os.getpid()}


def test_a_recording_of_a_newer_format_is_refused(root: Path) -> None:
    content = events(root).read_bytes()
    events(root).write_bytes(content.replace(b'"min_reader":1', b'"min_reader":2'))
    with pytest.raises(RecordingTooNew, match="format 2"):
        open_recording(root)
    events(root).write_bytes(content.replace(b'"v":1', b'"v":2'))
    assert read(open_recording(root))[0] == [0, 1, 2, 3, 4]


def test_the_run_as_the_parent_wrote_it(root: Path) -> None:
    (root / "run.json").write_text(json.dumps({"v": 1, "exit_status": 0}))
    assert open_recording(root).run == {"v": 1, "exit_status": 0}
    assert open_recording(events(root).parent).run == {"v": 1, "exit_status": 0}
    (root / "run.json").write_text('{"v":')
    recording = open_recording(root)
    assert recording.run is None
    assert [entry.kind for entry in recording.damage] == ["bad-run"]


def test_a_run_that_recorded_nothing_is_a_recording(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    assert open_recording(tmp_path).processes == []
    pack_recording(tmp_path, tmp_path / "p.zip")
    assert open_recording(tmp_path / "p.zip").run == {}


def test_what_is_not_a_file_is_not_waited_for(root: Path, tmp_path: Path) -> None:
    folder = root / "pid1-00000000"
    folder.mkdir()
    os.mkfifo(folder / "events.jsonl")
    os.mkfifo(tmp_path / "fifo")
    assert read(open_recording(root))[0] == [0, 1, 2, 3, 4]
    with pytest.raises(RecordingError):
        open_recording(tmp_path / "fifo")
    with pytest.raises(RecordingError):
        open_recording(tmp_path)


def test_a_live_recording_is_read_as_it_grows(tmp_path: Path) -> None:
    root = tmp_path / "r"
    writer = Writer(root, {})
    writer.record("a", {"m": {"i": 0}}, payload="0" * 300)
    [process] = open_recording(root).processes
    assert isinstance(process, FolderProcess)
    assert process.head["host"] == socket.gethostname()
    assert [record.k for record in process.records()] == ["head", "a"]
    assert process.live
    read_to = process.read_to
    with events(root).open("ab") as file:
        # Half a line, as if the writer was in the middle of it.
        file.write(b'{"k":"b","m":{}')
        file.flush()
        assert list(process.records(start=read_to)) == []
        assert process.read_to == read_to
        file.write(b'}\n{"k":"c","p":{"$":[999,20,300,"00000000000000000000000000000000"]}}\n')
    fresh = list(process.records(start=read_to))
    assert [record.k for record in fresh] == ["b", "c"]
    # A payload that has not arrived is no damage yet.
    assert process.text(fresh[1].p) is None
    assert process.damage == []
    assert not process.complete


def test_packing_while_the_program_runs(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from compilescope.recording.writer import Writer\n"
        "w = Writer(Path(sys.argv[1]), {}); n = 0\n"
        "while True:\n"
        "    w.record('a', {'m': {'i': n}}, payload=f'{n} ' * 400); n += 1\n"
        "    if n == 50: print('go', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "r")], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        for number in range(5):
            pack_recording(tmp_path / "r", tmp_path / f"{number}.zip")
    finally:
        child.kill()
        child.wait()
        child.stdout.close() if child.stdout else None
    for number in range(5):
        numbers, damage = read(open_recording(tmp_path / f"{number}.zip"))
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= 49
        assert {kind for kind, _ in damage} <= {"torn-line"}


def test_a_recording_zipped_by_another_tool(root: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in root.rglob("*"):
            archive.write(path, Path("r.compilescope") / path.relative_to(root))
    recording = open_recording(tmp_path / "other.zip")
    assert read(recording) == ([0, 1, 2, 3, 4], [])
    assert recording.processes[0].id.startswith("rank3-pid")
    assert recording.processes[0].complete


def test_a_damaged_zip_file(root: Path, tmp_path: Path) -> None:
    pack_recording(root, tmp_path / "p.zip")
    whole = (tmp_path / "p.zip").read_bytes()
    for size in (10, len(whole) // 2, len(whole) - 10):
        (tmp_path / "cut.zip").write_bytes(whole[:size])
        with pytest.raises(RecordingError, match=r"cut\.zip"):
            open_recording(tmp_path / "cut.zip")
    spoiled = bytearray(whole)
    spoiled[whole.index(b"\x28\xb5\x2f\xfd") + 30] ^= 0xFF
    (tmp_path / "bad.zip").write_bytes(spoiled)
    numbers, damage = read(open_recording(tmp_path / "bad.zip"))
    assert numbers != [0, 1, 2, 3, 4]
    assert "packed-bad" in {kind for kind, _ in damage}


def test_packing_what_is_no_recording(root: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingNotFound):
        pack_recording(tmp_path / "missing", tmp_path / "p.zip")
    with pytest.raises(RecordingError):
        pack_recording(tmp_path, tmp_path / "p.zip")
    with pytest.raises(OutputError):
        pack_recording(root, tmp_path / "no" / "folder" / "p.zip")
    assert not list(tmp_path.glob(".p.zip*"))


def test_packing_one_process(root: Path, tmp_path: Path) -> None:
    pack_recording(events(root).parent, tmp_path / "p.zip")
    assert read(open_recording(tmp_path / "p.zip")) == ([0, 1, 2, 3, 4], [])


def test_twenty_thousand_lines_of_junk_are_fifty_entries(root: Path) -> None:
    with events(root).open("ab") as file:
        file.write(b"junk\n" * 20_000)
    recording = open_recording(root)
    list(recording.processes[0].records())
    damage = recording.processes[0].damage
    assert len(damage) == 51
    assert damage[-1].detail == "and 19950 more of this kind"
    list(recording.processes[0].records())
    assert recording.processes[0].damage == damage


@pytest.mark.parametrize("number", [b"99999999999999999999", b"9223372036854775807", b"99999999999"])
@pytest.mark.parametrize("field", [0, 1, 2, 4, 5])
def test_extents_that_no_file_has(root: Path, number: bytes, field: int) -> None:
    content = events(root).read_bytes()
    start = content.rindex(b'{"$":[') + len(b'{"$":[')
    end = content.index(b"]", start)
    parts = content[start:end].split(b",")
    parts[field] = number
    events(root).write_bytes(content[:start] + b",".join(parts) + content[end:])
    numbers, damage = read(open_recording(root))
    assert numbers == [0, 1, 2, 3]
    assert len(damage) == 1
