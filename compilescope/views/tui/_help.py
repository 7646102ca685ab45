"""Sheets of text over a screen: the help, and what is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from compilescope.views.tui._draw import LABEL
from compilescope.views.tui._keys import Key
from compilescope.views.tui._table import Column


class Sheet(ModalScreen[None]):
    """Text to read; any of the usual keys closes it."""

    BINDINGS: ClassVar = [
        Binding("escape,q,question_mark,f1,enter,backspace", "dismiss", "close", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = self._title
            yield Static(self._text)

    def action_scroll(self, step: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)


def help_text(
    question: str, columns: Sequence[Column[Any]], groups: Sequence[tuple[str, Sequence[Key]]]
) -> Content:
    """The question of the screen, its columns, and every key that works now."""
    lines = [Content.styled(question, "bold")]
    told = [column for column in columns if column.about]
    if told:
        lines += [Content(""), Content.styled("columns", LABEL)]
        lines += [_line(column.name, column.about) for column in told]
    for name, keys in (group for group in groups if group[1]):
        lines += [Content(""), Content.styled(f"keys {name}", LABEL)]
        lines += [_line(key.shown, key.help) for key in keys]
    return Content("\n").join(lines)


def _line(left: str, right: str) -> Content:
    return Content.assemble(Content.styled(f"  {left:<19}", "bold"), right)
