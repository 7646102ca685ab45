"""Real processes: the same program under ``compilescope run`` and under plain ``python``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# The installed console script: unlike ``-m`` it puts no user folder on our own sys.path.
COMMAND = "from compilescope.cli import main\nmain()\n"
DEADLINE_S = 60


@dataclass
class Programs:
    """A folder with the user's files, and the two ways to run one of them."""

    folder: Path
    command: Path

    def write(self, name: str, code: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        return path

    def recorded_argv(self, *words: str) -> list[str]:
        return [sys.executable, str(self.command), "run", "-q", "-o", "REC", "-f", *words]

    def recorded(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self._run(self.recorded_argv(*words), **options)

    def plain(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, *words], **options)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Under ``compilescope run``, in a process group of its own."""
        argv = self.recorded_argv(*words)
        return subprocess.Popen(
            argv, cwd=self.folder, stdout=subprocess.PIPE, text=True, start_new_session=True, **options
        )

    def _run(
        self, argv: list[str], *, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
            **options,
        )

    @property
    def run_json(self) -> dict[str, Any]:
        return json.loads((self.folder / "REC" / "run.json").read_text())


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder = tmp_path / "user"
    folder.mkdir()
    command = tmp_path / "bin" / "compilescope"
    command.parent.mkdir()
    command.write_text(COMMAND)
    return Programs(folder, command)
