from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Tests are imported by file name, without packages: the builders next to `unit/` need a place on the path.
sys.path.insert(0, str(Path(__file__).parents[2]))

MAIN = "from compilescope.cli import main; main()"


@pytest.fixture
def command(monkeypatch):
    """The command in a process of its own, in the current folder: what a person would see."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "COMPILESCOPE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, **options) -> subprocess.CompletedProcess:
        options = {"text": True, "encoding": "utf-8", "capture_output": True} | options
        return subprocess.run([sys.executable, "-c", MAIN, *words], timeout=60, check=False, **options)

    return run
