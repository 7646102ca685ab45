"""Recorded values as short, safe, single-line text for cells and facts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size

from compilescope.analysis.worst import always_new
from compilescope.units import visible

if TYPE_CHECKING:
    from compilescope.analysis.report_graph import SourceLine

ELLIPSIS = "…"
_LONGEST = 2000


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Printable text without line ends. A recorded string may be megabytes long: the cut is told."""
    raw = str(text)
    left = len(raw) - longest
    shown = visible(" ".join(raw[:longest].split("\n")))
    return f"{shown}{ELLIPSIS} ({left:,} more characters)" if left > 0 else shown


def place(file: str | None, line: int | None) -> str:
    """'train.py:42', 'train.py', or nothing."""
    if not file:
        return ""
    return file if line is None else f"{file}:{line}"


def at(line: SourceLine | None) -> str:
    """'train.py:42  y = x + 1'"""
    if line is None:
        return ""
    return place(line.file, line.line) + (f"  {one_line(line.code.strip(), 200)}" if line.code else "")


def number(value: int | None) -> str:
    """Thousands with commas; '?' says that it is unknown, which is not 0."""
    return "?" if value is None else f"{value:,}"


def value(value: Any) -> str:
    """A guarded value as Python writes it; short text such as a dtype stays as it is."""
    return value if isinstance(value, str) else repr(value)


def chain(changes: Sequence[tuple[Any, Any]], longest: int = 5) -> str:
    """[(0, 1), (1, 2)] reads '0 -> 1 -> 2'; long ones keep both ends, unconnected ones are listed."""
    if not changes:
        return ""
    connected = all(a[1] == b[0] for a, b in pairwise(changes)) or always_new(changes)
    if not connected:
        shown = [f"{value(old)} -> {value(new)}" for old, new in changes[:3]]
        left = len(changes) - len(shown)
        return ", ".join(shown) + (f", and {left} more" if left else "")
    steps = [value(changes[0][0]), *(value(new) for _, new in changes)]
    if len(steps) > longest:
        steps = [*steps[: max(longest - 2, 1)], "...", steps[-1]]
    return " -> ".join(steps)


def fit(text: str, width: int, *, cut: str = "right", right: bool = False) -> str:
    """Exactly ``width`` cells. ``cut`` names the end that goes first: of a path the tail says more."""
    used = cell_len(text)
    if used > width:
        text = _cut(text, width, cut)
        used = cell_len(text)
    return " " * (width - used) + text if right else text + " " * (width - used)


def wrap(text: str, width: int, longest: int = 60) -> list[str]:
    """Lines of at most ``width`` cells, at most ``longest`` of them; words longer than a line are split.

    The indentation stays: of code it says something.
    """
    width = max(width, 4)
    lines = [""]
    bare = text.lstrip(" ")
    first, *others = bare.split(" ")
    indent = " " * min(len(text) - len(bare), width // 2)
    for word in (indent + first, *others):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        if not lines[-1]:
            lines.pop()
        lines += chop_cells(word, width)
    if len(lines) > longest:
        lines = [*lines[: longest - 1], fit(" ".join(lines[longest - 1 : longest + 1]), width)]
    return lines


def _cut(text: str, width: int, cut: str) -> str:
    if width < 1:
        return ""
    if cut == "right":
        return set_cell_size(text[: width * 2], width - 1) + ELLIPSIS
    tail = text[-width:]
    while cell_len(tail) > width - 1:
        tail = tail[1:]
    return ELLIPSIS + tail
