"""``run.json``: what only the parent knows. Written when the program starts and again when it has ended."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING, Any

from compilescope import __version__
from compilescope.launch.environment import telling_names
from compilescope.launch.folder import working_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from compilescope.launch.process import Ended
    from compilescope.launch.target import Target

FORMAT_VERSION = 1


def at_start(target: Target, environ: Mapping[str, str], notes: Sequence[str]) -> dict[str, Any]:
    return {
        "v": FORMAT_VERSION,
        "command": [_text(word) for word in ("python", *target.python_args)],
        "target": {"kind": target.kind, "name": _text(target.title)},
        "cwd": _text(str(working_directory())),
        "started_ns": time.time_ns(),
        "ended_ns": None,
        "exit_status": None,
        "signal": None,
        "git": None,
        "compilescope": __version__,
        "env": [_text(name) for name in telling_names(environ)],
        "notes": list(notes),
    }


def at_end(facts: Mapping[str, Any], ended: Ended, git: Mapping[str, object] | None) -> dict[str, Any]:
    return {
        **facts,
        "ended_ns": time.time_ns(),
        "exit_status": ended.exit_status,
        "signal": ended.signal,
        "git": git,
    }


def write(folder: Path, facts: Mapping[str, Any]) -> None:
    """Atomic replacement; on a full disk the old file's own block is reused. Raises OSError."""
    content = json.dumps(facts, ensure_ascii=False).encode() + b"\n"
    path = folder / "run.json"
    beside = folder / f"run.json.{os.getpid()}"
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT) or not path.exists():
            raise
        _write_in_place(path, content)


def _write_in_place(path: Path, content: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        file.write(content)
        file.truncate()


def _text(word: str) -> str:
    r"""JSON has no bytes: an undecodable one in an argument or path is shown as ``\xff``."""
    return os.fsencode(word).decode("utf-8", "backslashreplace")
