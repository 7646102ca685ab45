"""A long text with line numbers and one line marked. Draws and colors only the lines on screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from compilescope.units import visible
from compilescope.views.tui._keys import CODE, bindings

_LONGEST_LINE = 2000
_KINDS = ("comment", "keyword", "string", "number", "name")


class CodeView(ScrollView, can_focus=True):
    """``show`` gives it the lines of a text; they are cleaned of control characters when drawn."""

    BINDINGS: ClassVar = bindings(CODE)
    KEYS: ClassVar = CODE
    COMPONENT_CLASSES: ClassVar = {
        "code--gutter",
        "code--marked",
        "code--match",
        "code--cursor",
        "code--found",
        *(f"code--{kind}" for kind in _KINDS),
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: Sequence[str] = ()
        self.marked: int | None = None  # line number, from 1
        self.match: int | None = None  # line number, from 1
        self.cursor = 1  # line number, from 1: what keys act on
        self._needle = ""
        self._language = "text"

    def show(self, lines: Sequence[str], language: str, marked: int | None = None) -> None:
        """Replaces the text; the marked line comes into view."""
        self.lines, self._language, self.match = lines, language, None
        self.marked = marked if marked is not None and 1 <= marked <= len(lines) else None
        self.cursor = self.marked or 1
        longest = max(map(len, lines), default=0)
        self.virtual_size = Size(min(longest, _LONGEST_LINE) + self._gutter + 30, len(lines))
        self.scroll_to(x=0, y=0, animate=False, immediate=True)
        self.refresh()
        if self.marked:
            # The first text comes before the first layout: only after that there is a middle to go to.
            self.call_after_refresh(self.go_to, self.marked)

    def extend(self, lines: Sequence[str]) -> None:
        """Replaces the text by a longer one; what is looked at stays."""
        self.lines, self._language = lines, "text"
        longest = max(map(len, lines), default=0)
        self.virtual_size = Size(min(longest, _LONGEST_LINE) + self._gutter + 30, len(lines))
        self.refresh()

    def go_to(self, number: int) -> None:
        """Puts the cursor on a line, and the line into the middle of the view."""
        self.cursor = number
        self.scroll_to(y=max(number - 1 - self.size.height // 2, 0), animate=False, immediate=True)
        self.refresh()

    def action_cursor(self, step: int) -> None:
        """Moves the cursor, and the view as far as that needs."""
        self.cursor = min(max(self.cursor + step, 1), max(len(self.lines), 1))
        top, height = round(self.scroll_offset.y), max(self.scrollable_content_region.height, 1)
        first = min(max(top, self.cursor - height), self.cursor - 1)
        if first != top:
            self.scroll_to(y=first, animate=False, immediate=True)
        self.refresh()

    def action_page(self, step: int) -> None:
        self.action_cursor(step * max(self.scrollable_content_region.height - 1, 1))

    def action_ends(self, step: int) -> None:
        self.action_cursor(step * len(self.lines))

    def on_click(self, event: Click) -> None:
        at = event.get_content_offset(self)
        if at is not None:
            self.action_cursor(round(self.scroll_offset.y) + at.y + 1 - self.cursor)

    def find(self, text: str, step: int) -> bool:
        """Marks the next line with ``text``, round the end; False when there is none."""
        wanted, count = text.casefold(), len(self.lines)
        self._needle = wanted
        start = (self.match or 0) - 1 + (step if self.match else 1)
        for distance in range(count):
            index = (start + step * distance) % count
            if wanted in self.lines[index].casefold():
                self.match = index + 1
                self.go_to(self.match)
                return True
        self.match = None
        self.refresh()
        return False

    @property
    def _gutter(self) -> int:
        return len(str(len(self.lines))) + 3

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        index = round(top) + y
        if index >= len(self.lines):
            return Strip.blank(self.size.width, self.rich_style)
        number = index + 1
        over = Style.null()
        if number == self.marked:
            over += self.get_component_rich_style("code--marked", partial=True)
        if number == self.match:
            over += self.get_component_rich_style("code--match", partial=True)
        if number == self.cursor and self.has_focus:
            over += self.get_component_rich_style("code--cursor", partial=True)
        mark = ">" if number == self.marked else "/" if number == self.match else " "
        gutter = Strip([Segment(f"{mark}{number:>{self._gutter - 3}}  ", self._style("gutter") + over)])
        parts = colored(self._language, clipped(self.lines[index]))
        if self._needle:
            parts = with_found(parts, self._needle)
        text = Strip([Segment(part, self._style(kind) + over) for kind, part in parts])
        room = max(self.size.width - gutter.cell_length, 0)
        text = text.crop(round(left), round(left) + room).adjust_cell_length(room, self.rich_style + over)
        return Strip.join([gutter, text])

    def _style(self, kind: str) -> Style:
        return self.get_component_rich_style(f"code--{kind}") if kind else self.rich_style


def clipped(line: str) -> str:
    """Safe to draw: no control characters, at most 2,000 of a line."""
    left = len(line) - _LONGEST_LINE
    shown = visible(line[:_LONGEST_LINE])
    return f"{shown}… ({left:,} more)" if left > 0 else shown


def with_found(parts: Sequence[tuple[str, str]], needle: str) -> tuple[tuple[str, str], ...]:
    """The same text with every place of ``needle`` (case folded) as a part of the kind ``found``."""
    line = "".join(text for _, text in parts)
    folded = line.casefold()
    if needle not in folded or len(folded) != len(line):  # some letters fold to two: places would be wrong
        return tuple(parts)
    inside = [False] * len(line)
    start = folded.find(needle)
    while start >= 0:
        inside[start : start + len(needle)] = [True] * len(needle)
        start = folded.find(needle, start + len(needle))
    found: list[tuple[str, str]] = []
    at = 0
    for kind, text in parts:
        for is_inside, letters in groupby(range(at, at + len(text)), inside.__getitem__):
            piece = "".join(line[place] for place in letters)
            found.append(("found" if is_inside else kind, piece))
        at += len(text)
    return tuple(found)


@lru_cache(maxsize=4096)
def colored(language: str, line: str) -> tuple[tuple[str, str], ...]:
    """(kind, text) parts of one line. Line by line: constant work in a file of any length."""
    lexer = _lexer(language)
    if lexer is None or not line.strip():
        return (("", line),)
    parts = tuple((_kind(token), text) for token, text in lexer.get_tokens(line) if text)
    # A lexer that adds or drops characters must not change what is shown.
    return parts if "".join(text for _, text in parts) == line else (("", line),)


@lru_cache(maxsize=16)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return None if language == "text" else get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _kind(token: Any) -> str:
    from pygments.token import Token  # type: ignore[import-untyped]

    for kind, types in (
        ("comment", (Token.Comment,)),
        ("keyword", (Token.Keyword, Token.Operator.Word)),
        ("string", (Token.Literal.String,)),
        ("number", (Token.Literal.Number,)),
        ("name", (Token.Name.Function, Token.Name.Class, Token.Name.Decorator)),
    ):
        if any(token in parent for parent in types):
            return kind
    return ""
