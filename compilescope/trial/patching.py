"""Applies the small unified diffs that findings carry."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compilescope.errors import UsageError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def patched(text: str, diff: str) -> str:
    """``text`` after one diff of one file. Lines must match where the diff says, give or take an edit above.

    Raises UsageError when they do not.
    """
    lines = text.splitlines()
    moved = 0
    for start, old, new in _hunks(diff):
        at = _place(lines, start + moved, old)
        lines[at : at + len(old)] = new
        moved += len(new) - len(old)
    return "\n".join(lines) + "\n"


def file_of(diff: str) -> str:
    """The file as the report names it. Raises UsageError."""
    for line in diff.splitlines():
        if line.startswith("--- a/"):
            return line.removeprefix("--- a/")
    raise UsageError("the diff names no file")


def _hunks(diff: str) -> Iterable[tuple[int, list[str], list[str]]]:
    start, old, new = 0, list[str](), list[str]()
    for line in diff.splitlines()[2:]:
        head = _HUNK.match(line)
        if head:
            if old or new:
                yield start, old, new
            # Of a hunk that only inserts, the number is the line before it.
            start, old, new = int(head[1]) - (0 if head[2] == "0" else 1), [], []
            continue
        if line[:1] in (" ", "-", ""):
            old.append(line[1:])
        if line[:1] in (" ", "+", ""):
            new.append(line[1:])
    if old or new:
        yield start, old, new


def _place(lines: list[str], expected: int, old: list[str]) -> int:
    fitting = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
    if not fitting:
        raise UsageError(f"the diff does not fit: line {expected + 1} is not what was recorded")
    return min(fitting, key=lambda at: abs(at - expected))
