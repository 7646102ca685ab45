"""The revision of the user's source, asked while the program starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_ANSWER_S = 5.0


class GitQuestion:
    """Two git commands started at once: a huge repository must not delay the program. They write nothing."""

    def __init__(self, directory: Path) -> None:
        self._revision = _start(directory, "rev-parse", "HEAD")
        self._dirty = (
            _start(directory, "diff", "--quiet", "--no-ext-diff", "HEAD") if self._revision else None
        )

    def answer(self) -> dict[str, object] | None:
        """``{"revision": hex, "dirty": bool}``; None outside a repository, without git, or when it hangs."""
        revision, status = _finish(self._revision)
        _, differs = _finish(self._dirty)
        if status != 0 or not revision:
            return None
        return {"revision": revision, "dirty": bool(differs) if differs in (0, 1) else None}


def _start(directory: Path, *command: str) -> subprocess.Popen[str] | None:
    try:
        return subprocess.Popen(
            ["git", "-c", "core.fsmonitor=false", *command],
            cwd=directory,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
    except OSError:
        return None


def _finish(process: subprocess.Popen[str] | None) -> tuple[str, int | None]:
    if process is None:
        return "", None
    try:
        output, _ = process.communicate(timeout=_ANSWER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", None
    return output.strip(), process.returncode
