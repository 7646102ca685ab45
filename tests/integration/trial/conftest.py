"""Real programs, run again with real changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compilescope.cli.verify import command
from compilescope.launch import Target, run_program

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())["cases"]


@pytest.fixture(autouse=True)
def no_learned_shapes(monkeypatch):
    monkeypatch.delenv("TORCH_COMPILE_JOB_ID", raising=False)


@pytest.fixture
def verify() -> Callable[..., tuple[int, dict[str, Any]]]:
    """The command: exit status and its JSON."""

    def call(*words: str) -> tuple[int, dict[str, Any]]:
        done = CliRunner().invoke(
            command, [*words[:1], "--format", "json", *words[1:]], standalone_mode=False
        )
        if done.exception is not None:
            raise done.exception
        return done.return_value, json.loads(done.stdout)

    return call


@pytest.fixture
def recorded(tmp_path, monkeypatch) -> Callable[..., Path]:
    """A recording of some code, run as ``train.py`` in a folder that is the working directory from now on."""

    def record(code: str) -> Path:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "train.py").write_text(code)
        recording = tmp_path / "before.compilescope"
        run_program(Target("script", "train.py"), output=recording, say=lambda _: None)
        return recording

    return record
