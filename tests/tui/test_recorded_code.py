"""The wiring to a recording: texts by file and by compile, and the commands where there is no terminal."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from compilescope.cli import _explore
from compilescope.cli._explore import RecordingSource
from compilescope.cli._recorded_code import RecordedCode
from compilescope.errors import OutputError, RecordingNotFound
from compilescope.recording import Writer, open_recording

TEXT = "def f(x):\n    return x + 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    head = {
        "pid": 7,
        "ppid": 1,
        "start_ns": time.time_ns(),
        "argv": ["a.py"],
        "cwd": "/gone/project",
        "versions": {},
    }
    writer = Writer(tmp_path / "r.compilescope", head)
    for path in ("/gone/project/pkg/a.py", "/env/site-packages/lib/b.py", "/x/c.py", "/y/c.py"):
        writer.record("source", {"m": {"path": path}}, payload=f"# {path}\n{TEXT}", payload_kind="source")
    writer.record("dynamo_output_graph", {"m": {}}, c=(0, 1, 0, 0), payload="graph one", payload_kind="g")
    writer.record("dynamo_output_graph", {"m": {}}, c=(0, 1, 1, 2), payload="graph two", payload_kind="g")
    name = {"name": "inductor_post_grad_graph", "encoding": "string"}
    writer.record("artifact", {"m": name}, c=(0, 1, 0, 0), payload="after passes", payload_kind="a")
    writer.record("artifact", {"m": {"name": "unknown thing"}}, c=(0, 1, 0, 0), payload="x", payload_kind="a")
    writer.close()
    return tmp_path / "r.compilescope"


@pytest.fixture
def code(folder: Path) -> RecordedCode:
    return RecordedCode(open_recording(folder))


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("pkg/a.py", "/gone/project/pkg/a.py"),
        ("/gone/project/pkg/a.py", "/gone/project/pkg/a.py"),
        ("lib/b.py", "/env/site-packages/lib/b.py"),
    ],
)
def test_a_file_is_found_as_the_report_names_it(code: RecordedCode, file: str, path: str) -> None:
    text = code.source(file, None)
    assert text is not None
    assert text.startswith(f"# {path}\n")


@pytest.mark.parametrize("file", ["c.py", "nowhere.py", "", "../../etc/passwd", "a\0b"])
def test_an_ambiguous_or_unknown_file_has_no_text_and_no_place(code: RecordedCode, file: str) -> None:
    assert code.source(file, None) is None
    assert code.locate(file, None) is None


def test_a_file_that_is_here_is_located(code: RecordedCode, tmp_path: Path) -> None:
    here = tmp_path / "here.py"
    here.write_text(TEXT)
    assert code.locate(str(here), "no such process") == here


def test_documents_of_a_compile_are_named_and_read_one_by_one(code: RecordedCode) -> None:
    documents = code.documents("0/1", None)
    assert {document.title: document.read() for document in documents} == {
        "Dynamo graph": "graph one",
        "Dynamo graph, attempt 2, after reset 2": "graph two",
        "Inductor's graph after its passes": "after passes",
    }
    assert code.documents("!0/0/1", None)[0].read() == "graph one"
    assert code.documents("9/9", None) == []


def test_the_stamp_changes_when_the_recording_grows_and_when_it_is_gone(folder: Path) -> None:
    source = RecordingSource(folder)
    before = source.stamp()
    assert source.stamp() == before
    events = next(folder.glob("*/events.jsonl"))
    with events.open("a") as file:
        file.write("{}\n")
    assert source.stamp() != before
    with pytest.raises(FileNotFoundError):
        RecordingSource(folder / "nothing").stamp()


def test_the_web_page_is_written_beside_the_work_and_never_over_another(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = RecordingSource(folder)
    report = source.load().report
    path = source.export(report)
    assert path == Path("compilescope-report-r.html")
    assert path.read_text().startswith("<!")
    with pytest.raises(OutputError, match="exists"):
        source.export(report)


def test_a_recording_that_is_not_there_is_told_before_the_screen_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_explore, "is_terminal", lambda: True)
    with pytest.raises(RecordingNotFound):
        _explore.explore_or_print(tmp_path / "nothing", follow=False)


@pytest.mark.parametrize("command", ["tui", "watch"])
def test_without_a_terminal_the_summary_is_printed(folder: Path, command: str) -> None:
    code = f"from compilescope.cli.{command} import command; command()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.startswith("compilescope: ")
    assert "not a terminal" in done.stderr
