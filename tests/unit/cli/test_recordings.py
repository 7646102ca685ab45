from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilescope.cli._recordings import _complete, needs_a_name, newest
from compilescope.errors import RecordingNotFound


def make(path: Path, seconds: int, *, run_json: int | None = None) -> None:
    path.mkdir()
    if run_json is not None:
        (path / "run.json").write_text("{}")
        os.utime(path / "run.json", (run_json, run_json))
    os.utime(path, (seconds, seconds))


def test_newest_by_the_end_of_the_run(tmp_path, capsys):
    make(tmp_path / "a.compilescope", 100, run_json=500)
    make(tmp_path / "b.compilescope", 300, run_json=300)
    make(tmp_path / "c.compilescope", 400)
    make(tmp_path / "d.other", 900)
    assert newest(tmp_path).name == "a.compilescope"
    assert "a.compilescope" in capsys.readouterr().err


def test_another_than_the_newest_here_needs_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "old.compilescope", 100)
    make(tmp_path / "new.compilescope", 300)
    (tmp_path / "elsewhere").mkdir()
    make(tmp_path / "elsewhere" / "newer.compilescope", 900)
    assert needs_a_name(Path("old.compilescope"))
    assert needs_a_name(tmp_path / "elsewhere" / "newer.compilescope")
    assert not needs_a_name(Path("new.compilescope"))
    assert not needs_a_name(tmp_path / "new.compilescope")


def test_packed_recordings_count(tmp_path):
    make(tmp_path / "a.compilescope", 100)
    (tmp_path / "b.compilescope.zip").write_bytes(b"")
    assert newest(tmp_path).name == "b.compilescope.zip"


def test_packed_copy_does_not_hide_its_folder(tmp_path):
    make(tmp_path / "a.compilescope", 100)
    (tmp_path / "a.compilescope.zip").write_bytes(b"")
    assert newest(tmp_path).name == "a.compilescope"


def test_dangling_link_is_not_newer_than_a_recording(tmp_path):
    (tmp_path / "x.compilescope").symlink_to("gone")
    make(tmp_path / "a.compilescope", 100)
    assert newest(tmp_path).name == "a.compilescope"


def test_none(tmp_path):
    with pytest.raises(RecordingNotFound) as caught:
        newest(tmp_path)
    assert "compilescope run" in caught.value.hint


def test_shell_completes_recordings_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "a.compilescope", 1)
    (tmp_path / "a.compilescope.zip").touch()
    (tmp_path / "train.py").touch()
    assert _complete(None, None, "") == ["a.compilescope", "a.compilescope.zip"]
    assert _complete(None, None, "a.compilescope.") == ["a.compilescope.zip"]
    assert _complete(None, None, f"{tmp_path}/") == [
        f"{tmp_path}/a.compilescope",
        f"{tmp_path}/a.compilescope.zip",
    ]
    assert _complete(None, None, "no/such/") == []
