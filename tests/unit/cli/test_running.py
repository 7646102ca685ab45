"""A program's recording, found by its process id."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.cli._running import recording_of
from compilescope.errors import RecordingNotFound


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for pid, environ in ((41, b"A=1\0COMPILESCOPE_RECORDING=/runs/a.compilescope\0B=2\0"), (42, b"A=1\0")):
        folder = tmp_path / "proc" / str(pid)
        (folder / "task" / str(pid)).mkdir(parents=True)
        (folder / "environ").write_bytes(environ)
        (folder / "task" / str(pid) / "children").write_text("41 " if pid == 42 else "")
    (tmp_path / "proc" / "43").mkdir()
    return tmp_path / "proc"


def test_the_process_says_where_it_records_and_so_does_its_child(proc: Path) -> None:
    assert recording_of(Path("41"), proc) == Path("/runs/a.compilescope")
    assert recording_of(Path("42"), proc) == Path("/runs/a.compilescope")


def test_a_name_is_a_name(proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recording_of(Path("r.compilescope"), proc) == Path("r.compilescope")
    Path("41").mkdir()
    assert recording_of(Path("41"), proc) == Path("41")


def test_one_that_attached_from_inside_is_found_by_its_folder(
    proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.compilescope" / "rank0-pid43-0a1b2c3d").mkdir(parents=True)
    (tmp_path / "other.compilescope" / "pid431-0a1b2c3d").mkdir(parents=True)
    assert recording_of(Path("43"), proc) == Path("here.compilescope")


def test_what_cannot_be_found_is_said_to_be_so(
    proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordingNotFound, match="there is no process 99"):
        recording_of(Path("99"), proc)
    with pytest.raises(RecordingNotFound, match="what process 43 records cannot be read"):
        recording_of(Path("43"), proc)
    (proc / "42" / "task" / "42" / "children").unlink()
    with pytest.raises(RecordingNotFound, match="process 42 is not recorded"):
        recording_of(Path("42"), proc)
