"""The table widget: draws only the rows on screen, so that its size does not depend on the recording's.

Textual's DataTable fills 4,000 rows a second and scrolls sideways; here a column gives way instead.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from compilescope.units import visible
from compilescope.views.tui._keys import GRID, bindings
from compilescope.views.tui._rows import Rows
from compilescope.views.tui._table import Column
from compilescope.views.tui._words import fit

Placed = tuple[int, Column[Any], int]  # width, column, its number

_HEADER_ROWS = 1
_MARK = 2  # cells before the first column: cursor, or open and closed


class Grid(ScrollView, can_focus=True):
    """Draws ``rows.seen``. It changes nothing but its own cursor: what keys mean, the screen decides."""

    BINDINGS: ClassVar = bindings(GRID)
    KEYS: ClassVar = GRID
    COMPONENT_CLASSES: ClassVar = {
        "grid--header",
        "grid--cursor",
        "grid--warn",
        "grid--bad",
        "grid--faint",
        "grid--fresh",
    }

    class Moved(Message):
        """The cursor is on another row, or the rows have changed."""

    class Opened(Message):
        """Enter, or a double click, on the row at the cursor."""

    class Unfolded(Message):
        """The row at the cursor is to show (or hide) its children."""

        def __init__(self, opened: bool) -> None:
            super().__init__()
            self.opened = opened

    class HeaderClicked(Message):
        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, rows: Rows, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = rows
        self.cursor = 0
        self.fresh: Collection[Hashable] = ()
        self._laid: tuple[int, list[Placed]] = (-1, [])

    @property
    def current(self) -> Any:
        """The row at the cursor, None in an empty table."""
        return self.rows.seen[self.cursor] if self.cursor < len(self.rows.seen) else None

    @property
    def _widths(self) -> list[Placed]:
        width = self.size.width
        if self._laid[0] != width:
            self._laid = (width, column_widths(self.rows.table.columns, width - _MARK))
        return self._laid[1]

    def redraw(self) -> None:
        """After ``rows`` changed."""
        self.virtual_size = Size(self.size.width, len(self.rows.seen) + _HEADER_ROWS)
        self.cursor = max(0, min(self.cursor, len(self.rows.seen) - 1))
        self.move_to(self.cursor)
        self.refresh()

    def move_to(self, index: int) -> None:
        """Puts the cursor on a row that exists, in view."""
        before = self.cursor
        self.cursor = max(0, min(index, len(self.rows.seen) - 1))
        room = max(self.size.height - _HEADER_ROWS, 1)
        top = round(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1, animate=False, immediate=True)
        self.refresh_line(before + _HEADER_ROWS)
        self.refresh_line(self.cursor + _HEADER_ROWS)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows.seen) + _HEADER_ROWS)
        self.move_to(self.cursor)

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self._header()
        index = y - _HEADER_ROWS + round(self.scroll_offset.y)
        if index >= len(self.rows.seen):
            return Strip.blank(self.size.width, self.rich_style)
        return self._row(index)

    def _header(self) -> Strip:
        style = self.get_component_rich_style("grid--header")
        parts = [" " * _MARK]
        for width, column, number in self._widths:
            sorting = number == self.rows.sort_column
            arrow = ("^" if self.rows.reversed else "v") if sorting else ""
            parts.append(fit(column.name + arrow, width, right=column.right) + " ")
        return self._strip([Segment("".join(parts), style)])

    def _row(self, index: int) -> Strip:
        row = self.rows.seen[index]
        at_cursor = index == self.cursor
        over = Style.null()
        fresh = bool(self.fresh) and self.rows.table.key(row) in self.fresh
        if fresh:
            over += self.get_component_rich_style("grid--fresh", partial=True)
        if at_cursor:
            over += self.get_component_rich_style("grid--cursor", partial=True)
        base = self.rich_style + over
        segments = [Segment(self._mark(row, at_cursor, fresh), base)]
        for width, column, _ in self._widths:
            text = fit(visible(column.cell(row)), width, cut=column.cut, right=column.right)
            tone = column.tone(row) if column.tone and not at_cursor else ""
            style = self.get_component_rich_style(f"grid--{tone}") + over if tone else base
            segments.append(Segment(text + " ", style))
        return self._strip(segments)

    def _mark(self, row: Any, at_cursor: bool, fresh: bool) -> str:
        if self.rows.has_children(row):
            below = "-" if self.rows.is_open(row) else "+"
        else:
            below = "*" if fresh else " "
        return (">" if at_cursor else " ") + below

    def _strip(self, segments: list[Segment]) -> Strip:
        return Strip(segments).adjust_cell_length(self.size.width, segments[-1].style)

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            number = self._column_at(event.x)
            if number is not None:
                self.post_message(self.HeaderClicked(number))
            return
        index = event.y - _HEADER_ROWS + round(self.scroll_offset.y)
        if index < len(self.rows.seen):
            self.move_to(index)
            if event.chain == 2:
                self.post_message(self.Opened())

    def _column_at(self, x: int) -> int | None:
        left = _MARK
        for width, column, number in self._widths:
            if x <= left + width:
                return number if column.sort else None
            left += width + 1
        return None

    def action_open(self) -> None:
        if self.current is not None:
            self.post_message(self.Opened())

    def action_move(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(self.size.height - _HEADER_ROWS - 1, 1))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        self.move_to(len(self.rows.seen) - 1)

    def action_expand(self) -> None:
        self.post_message(self.Unfolded(True))

    def action_collapse(self) -> None:
        self.post_message(self.Unfolded(False))


def column_widths(columns: tuple[Column[Any], ...], total: int) -> list[Placed]:
    """Those that have room: fixed ones get theirs, the others share the rest by weight."""
    kept = [(number, column) for number, column in enumerate(columns) if total > column.above]
    left = total - sum(column.width for _, column in kept) - len(kept)
    shares = sum(column.share for _, column in kept if not column.width)
    found: list[Placed] = []
    for number, column in kept:
        width = column.width
        if not width:
            width = max(left * column.share // shares, 0)
            left, shares = left - width, shares - column.share
        found.append((width, column, number))
    return found
