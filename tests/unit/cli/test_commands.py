"""How the commands wire recording, report and view together; the report itself is made by hand."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import builders
import pytest
from click.testing import CliRunner

from compilescope.cli import report as report_command
from compilescope.cli import run as run_command
from compilescope.cli import summary as summary_command
from compilescope.cli._group import group
from compilescope.cli._recordings import Loaded
from compilescope.errors import RecordingTooNew, UsageError
from compilescope.launch import Ended, Outcome, Target


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in (run_command, summary_command):
        monkeypatch.setattr(module, "load_report", lambda path, **_: builders.history_grows())
    loaded = Loaded(builders.history_grows(), {}, [])
    monkeypatch.setattr(report_command, "load_with_texts", lambda path: loaded)
    return lambda *words: CliRunner().invoke(group, words)


@pytest.fixture
def ran(monkeypatch):
    """What `run` would have started."""
    calls = []

    def run_program(target, **options):
        del options["say"]
        calls.append((target, options))
        return Outcome(Ended(7), Path("REC"))

    monkeypatch.setattr(run_command, "run_program", run_program)
    return calls


PLAIN = {"output": None, "force": False, "fresh_cache": False}


@pytest.mark.parametrize(
    ("words", "target", "options"),
    [
        (
            ["t.py", "--lr", "3", "-m", "q", "--help"],
            Target("script", "t.py", ("--lr", "3", "-m", "q", "--help")),
            {},
        ),
        (["-m", "pkg.train", "--epochs=3"], Target("module", "pkg.train", ("--epochs=3",)), {}),
        (["-c", "1 + 1", "-c", "x"], Target("code", "1 + 1", ("-c", "x")), {}),
        (["-o", "x", "t.py", "-o", "y"], Target("script", "t.py", ("-o", "y")), {"output": Path("x")}),
        (["-fq", "--fresh-cache", "-"], Target("script", "-"), {"force": True, "fresh_cache": True}),
        (["--", "t.py", "--", "a"], Target("script", "t.py", ("--", "a")), {}),
        (["t.py", "--", "-f"], Target("script", "t.py", ("--", "-f")), {}),
        (["t.py", ""], Target("script", "t.py", ("",)), {}),
    ],
)
def test_options_before_the_program_are_ours(invoke, ran, words, target, options):
    assert invoke("run", *words).exit_code == 7
    assert ran == [(target, PLAIN | options)]


def test_run_ends_with_the_summary_on_stderr(invoke, ran):
    done = invoke("run", "t.py")
    assert done.stdout == ""
    assert "attend() hit the recompile limit" in done.stderr
    assert invoke("run", "-q", "t.py").stderr == ""


@pytest.mark.parametrize("problem", [RecordingTooNew("too new"), ZeroDivisionError("bug")])
def test_summary_that_fails_keeps_the_status_of_the_program(invoke, ran, monkeypatch, problem):
    def fail(path, **_):
        raise problem

    monkeypatch.setattr(run_command, "load_report", fail)
    done = invoke("run", "t.py")
    assert done.exit_code == 7
    assert "compilescope: no summary: " in done.stderr
    assert str(problem) in done.stderr


def test_summary_as_text_and_json(invoke):
    text = invoke("summary", "REC")
    assert "attend() hit the recompile limit" in text.stdout
    assert max(map(len, text.stdout.splitlines())) <= 80
    assert json.loads(invoke("summary", "REC", "--format", "json").stdout)["format_version"] == 1


def test_summary_of_one_frame_and_of_none(invoke):
    assert "attend  24_history_grows.py:5" in invoke("summary", "REC", "--frame", "attend").stdout
    assert "GRAPHS" in invoke("summary", "REC", "--graphs").stdout
    failed = invoke("summary", "REC", "--frame", "nope")
    assert isinstance(failed.exception, UsageError)
    assert failed.exception.hint == "there is: attend"


def test_summary_color_and_width(invoke):
    assert "\x1b[" in invoke("summary", "REC", "--color", "always").stdout
    assert "\x1b[" not in invoke("summary", "REC").stdout
    wide = invoke("summary", "REC", "--width", "120").stdout
    assert max(map(len, wide.splitlines())) <= 120


def test_summary_names_the_recording_it_chose(invoke, tmp_path):
    (tmp_path / "one.compilescope").mkdir()
    done = invoke("summary")
    assert "one.compilescope" in done.stderr
    assert "attend()" in done.stdout


def test_report_to_the_default_file_and_to_stdout(invoke, tmp_path):
    assert invoke("report", "compilescope-train.42.compilescope").exit_code == 0
    page = (tmp_path / "compilescope-report-train.42.html").read_text()
    assert "attend" in page
    assert invoke("report", "REC", "-o", "-").stdout == page
    again = invoke("report", "compilescope-train.42.compilescope")
    assert "exists" in str(again.exception)
    assert invoke("report", "compilescope-train.42.compilescope", "-f").exit_code == 0


def test_report_opens_a_browser_only_when_asked(invoke, monkeypatch):
    opened = []
    monkeypatch.setattr(report_command.webbrowser, "open", opened.append)
    invoke("report", "REC", "-o", "a.html")
    assert opened == []
    invoke("report", "REC", "-o", "b.html", "--open")
    assert opened == [Path("b.html").resolve().as_uri()]


@pytest.mark.parametrize("form", ["html", "markdown", "github"])
def test_redact_leaves_no_word_of_the_program(invoke, form):
    assert "attend" in invoke("report", "REC", "--format", form, "-o", "-").stdout
    hidden = invoke("report", "REC", "--format", form, "-o", "-", "--redact")
    assert hidden.exit_code == 0
    assert "attend" not in hidden.stdout
    assert "24_history_grows" not in hidden.stdout


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a.json.gz"])
def test_a_page_is_not_written_under_a_name_that_promises_another_form(invoke, tmp_path, name):
    done = invoke("report", "REC", "-o", name)
    assert "has no form for" in str(done.exception)
    assert not (tmp_path / name).exists()


def test_a_trace_named_gz_is_packed(invoke, tmp_path):
    recording = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings" / "01_print_in_forward.zip"
    for name in ("a.json.gz", "b.json.gz", "c.json"):
        assert invoke("report", str(recording), "--format", "perfetto", "-o", name).exit_code == 0
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "c.json").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()


def test_redact_does_not_go_with_a_trace(invoke):
    assert "--redact is for reports" in str(
        invoke("report", "REC", "--format", "perfetto", "--redact").exception
    )


def test_heavy_rooms_are_not_imported_by_importing_the_commands():
    assert "pandas" not in dir(run_command)
    assert sys.modules["compilescope.cli.run"] is run_command
