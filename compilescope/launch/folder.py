"""The recording's folder: its default name, and what ``-f`` may remove."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from compilescope.errors import OutputError

SUFFIX = ".compilescope"
_PROCESS_FOLDER = re.compile(r"(rank\d+-)?pid\d+-[0-9a-f]{8}")
_OUR_FILES = ("run.json", "output.log")
_STEM_BYTES = 80  # a name may have 255; leaves room for the pid, our suffix and those of reports made of it


def working_directory() -> Path:
    """Where the shell thinks we are, even when that folder was removed: python runs there too."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.environ.get("PWD") or os.sep)


def default_folder(stem: str, pid: int, directory: Path) -> Path:
    """``compilescope-train.4242.compilescope``, or with ``-2`` and so on after the pid where that exists."""
    name = f"compilescope-{_printable(stem)}.{pid}"
    folder = directory / f"{name}{SUFFIX}"
    again = 2
    while folder.exists():
        folder = directory / f"{name}-{again}{SUFFIX}"
        again += 1
    return folder


def _printable(stem: str) -> str:
    """The stem without what would hurt in a shell or a terminal: control characters, undecodable bytes."""
    clean = "".join(c if c.isprintable() and c != "/" else "_" for c in stem)
    return clean.encode()[:_STEM_BYTES].decode(errors="ignore") or "_"


def make_room(folder: Path, *, force: bool) -> None:
    """With ``force`` removes an old recording. Raises OutputError when what is there has to stay."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if not force:
        raise OutputError(f"{folder} exists", hint="give another name with -o, or -f to replace it")
    if not _is_recording(folder):
        raise OutputError(f"{folder} is not a recording: it stays", hint="give another name with -o")
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        raise OutputError(f"cannot remove {folder}: {problem.strerror}") from problem


def _is_recording(folder: Path) -> bool:
    """Nothing in it but what we write: a mistyped ``-f -o src`` must not cost anybody their files."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(
        _PROCESS_FOLDER.fullmatch(entry.name) if entry.is_dir() else entry.name.startswith(_OUR_FILES)
        for entry in folder.iterdir()
    )
