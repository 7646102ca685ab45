"""The recording of a program that runs, found by its process id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from compilescope.errors import RecordingNotFound

_VARIABLE = b"COMPILESCOPE_RECORDING="
_HINT = "name the recording itself, or start the program with: compilescope run SCRIPT"


def recording_of(named: Path, proc: Path = Path("/proc")) -> Path:
    """``named`` itself, or where the process of that number records. Raises RecordingNotFound."""
    text = str(named)
    if not text.isdecimal() or named.exists():
        return named
    told = next(filter(None, map(_told_by, (proc / text, *_children(proc / text)))), None)
    if told is not None:
        return told
    beside = _with_folder_of(int(text), Path())
    if beside is not None:
        return beside
    message, hint = _why(proc / text, text)
    raise RecordingNotFound(message, hint=hint)


def _told_by(process: Path) -> Path | None:
    """The variable that ``compilescope run`` set for it, seen from its working directory."""
    try:
        entries = (process / "environ").read_bytes().split(b"\0")
        value = next(entry[len(_VARIABLE) :] for entry in entries if entry.startswith(_VARIABLE))
    except (OSError, StopIteration):
        return None
    path = Path(os.fsdecode(value))
    try:
        return path if path.is_absolute() else (process / "cwd").readlink() / path
    except OSError:
        return None


def _children(process: Path) -> Iterator[Path]:
    """``compilescope run`` itself is not recorded: its program is."""
    try:
        found = (process / "task" / process.name / "children").read_text().split()
    except OSError:
        return
    yield from (process.parent / child for child in found)


def _with_folder_of(pid: int, directory: Path) -> Path | None:
    """A recording here with a folder of that process: one that attached from inside sets no variable."""
    found = [
        folder
        for folder in directory.glob("*.compilescope")
        if any(folder.glob(f"pid{pid}-*")) or any(folder.glob(f"rank*-pid{pid}-*"))
    ]
    return max(found, key=lambda folder: folder.stat().st_mtime_ns, default=None)


def _why(process: Path, text: str) -> tuple[str, str | None]:
    if not process.exists():
        return f"there is no process {text}, and no recording of that name", None
    try:
        (process / "environ").read_bytes()
    except OSError as problem:
        return f"what process {text} records cannot be read: {problem.strerror}", _HINT
    return f"process {text} is not recorded by compilescope", _HINT
