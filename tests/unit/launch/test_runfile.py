from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from compilescope.launch import Ended, Target
from compilescope.launch.runfile import at_end, at_start, write

START = at_start(Target("script", "train.py", ("x",)), {"RANK": "3", "HF_TOKEN": "secret"}, ["a note"])


def read(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_bytes())


def test_start_and_end_have_the_same_fields(tmp_path):
    write(tmp_path, START)
    first = read(tmp_path)
    write(tmp_path, at_end(START, Ended(137, "SIGKILL"), {"revision": "abc", "dirty": True}))
    last = read(tmp_path)
    assert list(first) == list(last)
    assert {name for name in first if first[name] != last[name]} == {
        "ended_ns",
        "exit_status",
        "signal",
        "git",
    }
    assert (last["exit_status"], last["signal"], last["git"]) == (
        137,
        "SIGKILL",
        {"revision": "abc", "dirty": True},
    )
    assert first["ended_ns"] is None
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_values_of_variables_are_not_written(tmp_path):
    write(tmp_path, START)
    assert read(tmp_path)["env"] == ["RANK"]


def test_undecodable_text_becomes_valid_utf8(tmp_path):
    write(tmp_path, at_start(Target("script", os.fsdecode(b"t\xff.py")), {}, []))
    assert read(tmp_path)["target"]["name"] == "t\\xff.py"
    assert (tmp_path / "run.json").read_bytes().decode()


def full_disk(*_args):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_at_the_start_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path, START)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_at_the_end_reuses_the_file(tmp_path, monkeypatch):
    write(tmp_path, {**START, "notes": ["long " * 100]})
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    write(tmp_path, at_end(START, Ended(3), None))
    assert read(tmp_path)["exit_status"] == 3


def test_other_errors_are_raised(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "gone", START)
