"""Measuring, cutting and wrapping text for a terminal of a known width."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from compilescope.units import visible

_ASCII = str.maketrans({"·": "|", "…": "...", "→": "->", "×": "x", "–": "-", "—": "-", "“": '"', "”": '"'})


class Line(NamedTuple):
    """One line of output. ``style`` is a name of :data:`STYLES`, or empty."""

    text: str
    style: str = ""


STYLES = {"strong": "\x1b[1m", "faint": "\x1b[2m", "warn": "\x1b[33m"}
RESET = "\x1b[0m"


def cells(text: str) -> int:
    """Columns a terminal needs; combining marks count as one, so that no line is longer than promised."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@dataclass(frozen=True, slots=True)
class Page:
    """A terminal page: ``width`` columns, and plain ASCII only if ``ascii``."""

    width: int
    ascii: bool = False

    @property
    def dot(self) -> str:
        return "|" if self.ascii else "·"

    @property
    def ellipsis(self) -> str:
        return "..." if self.ascii else "…"

    def clean(self, text: str) -> str:
        """Text that cannot move the cursor, change colors or break the line; ASCII if the page is."""
        text = visible(text)
        if self.ascii and not text.isascii():
            text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
        return text

    def clip(self, text: str, width: int) -> str:
        """At most ``width`` columns; a cut end shows an ellipsis."""
        if cells(text) <= width:
            return text
        return _head(text, width - len(self.ellipsis)) + self.ellipsis

    def middle(self, text: str, width: int) -> str:
        """At most ``width`` columns, cut in the middle: both ends of a path tell where it is."""
        if cells(text) <= width:
            return text
        room = max(width - len(self.ellipsis), 0)
        tail = _tail(text, room - room // 3)
        return _head(text, room // 3) + self.ellipsis + tail

    def wrap(self, text: str, width: int, max_lines: int) -> list[str]:
        """At most ``max_lines`` lines of ``width`` columns; a cut last line ends in an ellipsis."""
        lines: list[str] = []
        words = text.split()
        while words:
            line, words = _take_line(words, width)
            if len(lines) == max_lines - 1 and words:
                return [*lines, self.clip(" ".join([line, *words]), width)]
            lines.append(line)
        return lines

    def hanging(self, label: str, text: str, indent: int, max_lines: int) -> list[str]:
        """``label`` padded to ``indent`` columns, then the text beside it."""
        rows = self.wrap(self.clean(text), self.width - indent, max_lines)
        return [(label if number == 0 else "").ljust(indent) + row for number, row in enumerate(rows)]

    def ends(self, left: str, right: str) -> str:
        """``left`` at the left edge and ``right`` at the right one; the caller saw to it that they fit."""
        return left + " " * (self.width - cells(left) - cells(right)) + right


def _take_line(words: list[str], width: int) -> tuple[str, list[str]]:
    first = words[0]
    if cells(first) > width:
        head = _head(first, width) or first[0]
        return head, [first[len(head) :], *words[1:]]
    used, taken = cells(first), 1
    while taken < len(words) and used + 1 + cells(words[taken]) <= width:
        used += 1 + cells(words[taken])
        taken += 1
    return " ".join(words[:taken]), words[taken:]


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += cells(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    return _head(text[::-1], width)[::-1]
