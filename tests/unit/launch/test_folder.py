from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.errors import OutputError
from compilescope.launch.folder import default_folder, make_room, working_directory


def recording(folder):
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    for name in ("pid12-0a1b2c3d", "rank3-pid12-0a1b2c3d"):
        (folder / name).mkdir()
        (folder / name / "events.jsonl").write_text("")
    return folder


def test_default_name(tmp_path):
    assert default_folder("train", 42, tmp_path) == tmp_path / "compilescope-train.42.compilescope"


def test_default_name_never_hits_what_exists(tmp_path):
    (tmp_path / "compilescope-train.42.compilescope").mkdir()
    (tmp_path / "compilescope-train.42-2.compilescope").write_text("")
    assert default_folder("train", 42, tmp_path).name == "compilescope-train.42-3.compilescope"


@settings(deadline=None)
@given(st.text(max_size=300))
def test_default_name_is_one_printable_file_name(stem):
    folder = default_folder(stem, 4_194_304, working_directory())
    assert folder.parent == working_directory()
    assert folder.name.isprintable()
    assert len(os.fsencode(folder.name)) < 200
    assert folder.name.endswith(".4194304.compilescope")


def test_room_where_nothing_is(tmp_path):
    make_room(tmp_path / "REC", force=False)
    make_room(tmp_path / "REC", force=True)


def test_existing_is_refused_without_force(tmp_path):
    with pytest.raises(OutputError, match="exists") as caught:
        make_room(recording(tmp_path / "REC"), force=False)
    assert "-f" in caught.value.hint


def test_force_removes_a_recording_or_an_empty_folder(tmp_path):
    for folder in (recording(tmp_path / "REC"), tmp_path / "empty"):
        folder.mkdir(exist_ok=True)
        make_room(folder, force=True)
        assert not folder.exists()


@pytest.mark.parametrize("foreign", ["train.py", "src/", "pid12/", "pid12-0a1b2c3dX/", "events.jsonl"])
def test_force_keeps_what_is_not_a_recording(tmp_path, foreign):
    folder = recording(tmp_path / "REC")
    (folder / foreign).mkdir() if foreign.endswith("/") else (folder / foreign).write_text("mine")
    with pytest.raises(OutputError, match="not a recording"):
        make_room(folder, force=True)
    assert (folder / "run.json").exists()


def test_force_keeps_files_and_links(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("mine")
    target = recording(tmp_path / "REC")
    link, dangling = tmp_path / "link", tmp_path / "dangling"
    link.symlink_to(target)
    dangling.symlink_to("nowhere")
    for path in (script, link, dangling):
        with pytest.raises(OutputError):
            make_room(path, force=True)
    assert script.read_text() == "mine"
    assert (target / "run.json").exists()


def test_working_directory_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("PWD", str(gone))
    gone.rmdir()
    assert working_directory() == gone
