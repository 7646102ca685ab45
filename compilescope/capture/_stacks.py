"""User frames on the Python stack, and the text of the files they are in.

Frames of torch, of the standard library and of CompileScope are left out: what a person can change is
their own line and, on the way to it, a third-party package's.
"""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from compilescope.recording.writer import Writer

MAX_FRAMES = 12
CODE_ARGUMENT = "<string>"
MAX_SOURCE_BYTES = 1_000_000

_OURS = str(Path(__file__).resolve().parent.parent) + os.sep
_STDLIB = tuple(
    {
        sysconfig.get_path(name) + os.sep
        for name in ("stdlib", "platstdlib")
        if sysconfig.get_path(name) is not None
    }
    | {str(Path(subprocess.__file__).resolve().parent) + os.sep}
)
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
# What runs the cells of a notebook stands below every call in it, and is nobody's to change.
_NOTEBOOK = ("IPython", "ipykernel", "ipykernel_launcher.py", "traitlets", "tornado", "debugpy")

UserFrame = list[Any]  # [file id, line, function]


class Stacks:
    """Walks stacks and stores each user file once. One per session: file ids belong to its writer."""

    def __init__(self, writer: Writer, torch_folder: str) -> None:
        self._writer = writer
        self._torch = torch_folder.rstrip(os.sep) + os.sep
        self._is_user: dict[str, bool] = {}
        self._stored: set[str] = set()

    def forked(self) -> None:
        """A forked child writes its own folder: its sources have to be stored again."""
        self._stored.clear()

    def is_user_file(self, filename: str) -> bool:
        known = self._is_user.get(filename)
        if known is None:
            known = self._is_user[filename] = self._classify(filename)
        return known

    def _classify(self, filename: str) -> bool:
        if filename == CODE_ARGUMENT:  # also what dataclasses and namedtuples generate their methods as
            return _code_argument() is not None
        if filename.startswith(("<frozen", "<eval_with_key", "<__array_function__")):
            return False
        if filename.startswith((self._torch, _OURS)):
            return False
        site = next((site for site in _SITE if site in filename), None)
        if site is not None and filename.rpartition(site)[2].partition(os.sep)[0] in _NOTEBOOK:
            return False
        if site is not None:
            return f"{os.sep}torch{os.sep}" not in filename and f"{os.sep}triton{os.sep}" not in filename
        return not filename.startswith(_STDLIB)

    def is_library(self, filename: str) -> bool:
        """Installed packages, the standard library, torch, generated code: not what the user wrote."""
        return not self.is_user_file(filename) or any(site in filename for site in _SITE)

    def user_frames(self, skip: int = 1) -> list[UserFrame]:
        """The user frames of the caller's stack, innermost first, at most MAX_FRAMES."""
        frames: list[UserFrame] = []
        frame = sys._getframe(skip)
        while frame is not None and len(frames) < MAX_FRAMES:
            code = frame.f_code
            if self.is_user_file(code.co_filename):
                frames.append([self.file_id(code.co_filename), frame.f_lineno, code.co_name])
            frame = frame.f_back  # type: ignore[assignment]
        return frames

    def file_id(self, filename: str) -> int:
        """The recording's id of a file; a user file's text is stored the first time it is named."""
        if filename not in self._stored and self.is_user_file(filename):
            self._stored.add(filename)
            self._store(filename)
        return self._writer.file_id(filename)

    def _store(self, filename: str) -> None:
        text = _source_text(filename)
        if text is not None:
            self._writer.record("source", {"m": {"path": filename}}, payload=text, payload_kind="source")


def _code_argument() -> str | None:
    """The CODE of ``python -c CODE``, if that is how this program was started."""
    words = sys.orig_argv
    if not sys.argv or sys.argv[0] != "-c" or "-c" not in words[:-1]:
        return None
    return words[words.index("-c") + 1]


def _source_text(filename: str) -> str | None:
    """The file's text; cells of a notebook have theirs in linecache only."""
    if filename == CODE_ARGUMENT:
        return _code_argument()
    try:
        path = Path(filename)
        if path.is_file():
            if path.stat().st_size > MAX_SOURCE_BYTES:
                return None
            return path.read_bytes().decode("utf-8", "replace")
        lines = linecache.cache.get(filename)
        if lines is not None and len(lines) == 4:
            return "".join(lines[2])
    except OSError:
        pass
    return None
