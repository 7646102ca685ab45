"""Small unified diffs, written from the stored source."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compilescope.advice.sources import Sources

_MAX_LINES = 40


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines ``first`` to ``last``, both included, become ``lines``; ``last`` = ``first`` - 1 inserts."""

    first: int
    last: int
    lines: Sequence[str]


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def unified(sources: Sources, file: str | None, edits: Iterable[Edit]) -> str | None:
    """One diff of all edits, without overlap; None when nothing changes or the file is not stored."""
    old = list(sources.lines(file))
    if not old or file is None:
        return None
    new, lowest = list(old), len(old) + 1
    for edit in sorted(edits, key=lambda e: (-e.first, -e.last)):
        if edit.first < 1 or max(edit.first, edit.last) > len(old) or edit.last >= lowest:
            continue
        new[edit.first - 1 : edit.last] = edit.lines
        lowest = edit.first
    rows = list(difflib.unified_diff(old, new, f"a/{file}", f"b/{file}", n=1, lineterm=""))
    return "\n".join(rows) + "\n" if 0 < len(rows) <= _MAX_LINES else None
