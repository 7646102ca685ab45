"""One message, one exit status, never a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

MAIN = "from compilescope.cli import main; main()"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train.py"], "did you mean: compilescope run train.py"),
        (["sumary"], "did you mean: compilescope summary"),
        (["xyzzy"], "no command 'xyzzy'"),
        (["-m", "pkg.train"], "did you mean: compilescope run -m"),
        (["run"], "nothing to run"),
        (["run", "-m"], "nothing to run"),
        (["run", "--bogus", "train.py"], "--bogus"),
        (["run", "no.py"], "can't open file"),
        (["summary", "--format", "xml"], "xml"),
        (["summary", "--width", "3"], "3"),
        (["pack", "no such"], "no such recording"),
        (["report", "-o", "-", "--open", "x"], "--open"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_errors(command, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("compilescope: error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_existing_script_without_the_verb(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("")
    assert "did you mean: compilescope run train --lr 3" in command("train", "--lr", "3").stderr


def test_no_recording_here(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("summary", "report", "pack"):
        done = command(name)
        assert (done.returncode, done.stdout) == (2, "")
        assert "no recording in this folder" in done.stderr


BROKEN = f"import compilescope.cli._recordings as r\nr.newest = lambda *a: 1 // 0\n{MAIN}"


def run_broken(tmp_path, **options):
    argv = [sys.executable, "-c", BROKEN, "summary"]
    return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, **options)


def test_our_own_fault_is_a_message(tmp_path):
    done = run_broken(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("compilescope: error: internal error: ZeroDivisionError")
    assert "compilescope doctor" in done.stderr
    assert "Traceback" not in done.stderr


def test_our_own_fault_with_its_traceback_when_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILESCOPE_TRACEBACK", "1")
    assert "ZeroDivisionError" in run_broken(tmp_path).stderr.splitlines()[-1]
    assert "Traceback" in run_broken(tmp_path).stderr


def test_reader_that_goes_away(tmp_path):
    """As in `compilescope ... | head`: no message, and not a success either."""
    code = f"import sys, os, time; time.sleep(0.2)\n{MAIN}"
    argv = [sys.executable, "-c", code, "completion", "zsh"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    process.stdout.close()
    assert process.wait(timeout=30) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_closed_streams(tmp_path):
    argv = [sys.executable, "-c", f"import os; os.close(2)\n{MAIN}", "xyzzy"]
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 2


def test_user_files_in_the_working_directory_are_not_ours(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "click.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "difflib.py").write_text("raise SystemExit('the wrong one')")
    assert command("--version").returncode == 0
