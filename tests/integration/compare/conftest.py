from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MAIN = "from compilescope.cli import main; main()"


@pytest.fixture
def command(tmp_path, monkeypatch) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command in a process of its own, in an empty folder: what a person would see."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_STEP_SUMMARY", "TORCH_COMPILE_JOB_ID"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", MAIN, *map(str, words)],
            env={**os.environ, **environment},
            text=True,
            encoding="utf-8",
            capture_output=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def record(command, tmp_path) -> Callable[..., Path]:
    """``record(code, name)``: a recording of the code, run as ``train.py``."""

    def make(code: str, name: str, **environment: str) -> Path:
        (tmp_path / "train.py").write_text(code)
        recording = tmp_path / f"{name}.compilescope"
        done = command("run", "-q", "-o", recording, "train.py", **environment)
        assert done.returncode == 0, done.stderr
        return recording

    return make
