"""The exceptions CompileScope raises to its users.

CompileScopeError            exit status 2: could not do it
├── UsageError               the command or call was wrong
├── RecordingError           a recording cannot be read at all
│   ├── RecordingNotFound    nothing there
│   └── RecordingTooNew      written by a newer CompileScope than this one
└── OutputError              a file we were asked to write cannot be written

Damage inside a recording is not an exception: it is listed in the report (recording/damage.py).
"""

from __future__ import annotations


class CompileScopeError(Exception):
    """What went wrong, which file, what to do. ``slug`` names the page of the docs that says more."""

    slug = "error"
    exit_status = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(CompileScopeError):
    slug = "usage"


class RecordingError(CompileScopeError):
    slug = "recording-unreadable"


class RecordingNotFound(RecordingError):
    slug = "recording-not-found"


class RecordingTooNew(RecordingError):
    slug = "recording-too-new"


class OutputError(CompileScopeError):
    slug = "output"
