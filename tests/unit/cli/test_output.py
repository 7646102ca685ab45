from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.cli._output import write_new
from compilescope.cli.report import report_stem
from compilescope.errors import OutputError


def page(file: Path) -> None:
    file.write_text("new")


def test_writes_and_leaves_nothing_else(tmp_path):
    write_new(tmp_path / "r.html", page, force=False)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_never_over_another_without_force(tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"r\.html exists") as caught:
        write_new(path, page, force=False)
    assert "-f" in caught.value.hint
    assert path.read_text() == "old"
    write_new(path, page, force=True)
    assert path.read_text() == "new"


def test_a_link_counts_as_existing(tmp_path):
    path = tmp_path / "r.html"
    path.symlink_to("gone")
    with pytest.raises(OutputError):
        write_new(path, page, force=False)


def test_failure_leaves_the_old_file(tmp_path):
    def half(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(OutputError, match="No space left"):
        write_new(path, half, force=True)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r.html": "old"}


def test_missing_folder_and_folder_in_the_way(tmp_path):
    with pytest.raises(OutputError, match="No such file"):
        write_new(tmp_path / "no" / "r.html", page, force=False)
    with pytest.raises(OutputError, match="is a folder"):
        write_new(tmp_path, page, force=True)


@pytest.mark.parametrize(
    ("recording", "stem"),
    [
        ("compilescope-train.42.compilescope", "train.42"),
        ("runs/compilescope-train.42.compilescope.zip", "train.42"),
        ("REC", "REC"),
        (".compilescope", "recording"),
    ],
)
def test_name_of_the_report(recording, stem):
    assert report_stem(Path(recording)) == stem
