from __future__ import annotations

import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_asks_the_command_for_completions(command, shell):
    done = command("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_COMPILESCOPE_COMPLETE={shell}_complete" in done.stdout


def test_commands_and_recordings_are_completed(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.compilescope").mkdir()
    (tmp_path / "train.py").touch()
    monkeypatch.setenv("_COMPILESCOPE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "compilescope su")
    assert "plain,summary" in command().stdout
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("COMP_WORDS", "compilescope summary ")
    assert command().stdout.split() == ["plain,a.compilescope"]


def test_bash_accepts_the_script(command):
    done = subprocess.run(
        ["bash", "-n"],
        input=command("completion", "bash").stdout,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
