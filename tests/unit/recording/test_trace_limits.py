"""Memory stays bounded whatever a log holds. Peaks are those of Python's allocator, in bytes."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compilescope.recording import open_recording
from compilescope.recording.source import FileSource
from compilescope.recording.trace_blocks import BlockSplitter
from compilescope.recording.trace_log import TraceLog

_MIB = 1 << 20
_CHUNK = b"x" * (4 * _MIB)


@pytest.fixture
def peak() -> Any:
    def measure(work: Callable[[], Any]) -> tuple[Any, int]:
        tracemalloc.start()
        try:
            result = work()
            return result, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure


def read_pieces(path: Path, pieces: list[bytes]) -> TraceLog:
    log = TraceLog(FileSource(path, "t.log"), 2025)
    splitter = BlockSplitter(log)
    for piece in pieces:
        splitter.feed(piece)
    splitter.finish()
    log.finish(sum(map(len, pieces)))
    return log


def test_a_line_of_a_gigabyte(small_log: Any, tmp_path: Path, peak: Any) -> None:
    pieces = [small_log.content, *[_CHUNK] * 256, b"\n", small_log.content]
    log, peak_bytes = peak(lambda: read_pieces(tmp_path, pieces))
    assert peak_bytes < 64 * _MIB
    [entry] = [e for e in log.damage.entries() if e.kind == "line-too-long"]
    assert entry.where == f"t.log:{len(small_log.content)}"
    assert str(256 * len(_CHUNK) + 1) in entry.detail
    [process] = log.processes
    assert [record.k for record in process.records(("dynamo_start",))] == ["dynamo_start"] * 4


@pytest.mark.parametrize("line", [b"x" * 1000, b"x" * 70_000, b""])
def test_a_payload_larger_than_what_is_held(log: Any, tmp_path: Path, peak: Any, line: bytes) -> None:
    piece = b"\n".join([line] * (2 * _MIB // (len(line) + 1)))
    count = 12
    hashed = hashlib.md5(piece, usedforsecurity=False)
    for _ in range(count - 1):
        hashed.update(b"\n" + piece)
    header = type(log)().artifact("big", "", 0).content.split(b"\n")[0]
    header = header.replace(hashlib.md5(b"").hexdigest().encode(), hashed.hexdigest().encode())
    body = b"\t" + piece.replace(b"\n", b"\n\t") + b"\n"
    after = type(log)().start(1).content
    log_read, peak_bytes = peak(lambda: read_pieces(tmp_path, [header + b"\n", *[body] * count, after]))
    assert peak_bytes < 60 * _MIB
    [process] = log_read.processes
    big, start = process.records()
    assert process.damage == [] or {entry.kind for entry in process.damage} == {"strings-missing"}
    assert big.p is not None
    assert big.p.zlen == count * len(body) - 1
    assert start.k == "dynamo_start"


def test_a_string_table_is_left_in_the_file(log: Any, tmp_path: Path, peak: Any) -> None:
    line = type(log)().string(0, "NAME").content.decode()
    lines = (line.replace("NAME", f"/a/{n}/" + "n" * 300).replace("0]", f"{n}]") for n in range(30_000))
    path = tmp_path / "t.log"
    path.write_text("".join(lines))
    recording, peak_bytes = peak(lambda: open_recording_and_forget(path))
    assert peak_bytes < 16 * _MIB
    assert recording.file(29_999) == "/a/29999/" + "n" * 300
    assert recording.file(30_000) is None


def open_recording_and_forget(path: Path) -> Any:
    with path.open("ab") as file:
        file.write(b'V1129 10:00:00.000000 77 t/x.py:1] {"dynamo_start": {"stack": []}}\n')
    [process] = open_recording(path).processes
    return process


def test_a_hostile_line_does_not_cost_its_square(log: Any, tmp_path: Path) -> None:
    almost = b"V1129 10:00:00.000000 77 path" * 70_000 + b"\n"
    log.start(0).raw(almost).raw(b"\t" * 2_000_000 + b"\n").raw(b"\n" * 2_000_000).start(1)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert {entry.kind for entry in recording.processes[0].damage} == {"bad-header", "strings-missing"}
    assert len(list(recording.processes[0].records())) == 2


def test_deeply_nested_json_is_damage(log: Any, tmp_path: Path) -> None:
    log.start(0).raw(b"V1129 10:00:00.000000 77 t/x.py:1] " + b'{"a":' * 100_000 + b"\n").start(1)
    recording = open_recording(log.write(tmp_path / "t.log"))
    assert [entry.kind for entry in recording.processes[0].damage] == ["bad-json", "strings-missing"]
