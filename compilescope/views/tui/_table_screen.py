"""A screen that is a table and, beside or below it, the row at the cursor in full."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from compilescope.views.tui import _draw
from compilescope.views.tui._card import Card
from compilescope.views.tui._flow import Flow
from compilescope.views.tui._grid import Grid
from compilescope.views.tui._keys import PAGE, TABLE, TEXT, Key, bindings
from compilescope.views.tui._rows import Rows
from compilescope.views.tui._screen import PageScreen
from compilescope.views.tui._table import Column

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._pages import Page
    from compilescope.views.tui._source import CodeSource

_LOW, _FEW, _MANY = 16, 1, 3  # in a pane of under 16 lines one line around the user's is shown, else three
_MANY_ROWS = 2000
_WARM_S, _WARM_EVERY_S = 0.01, 0.05
_CONTEXT_DELAY_S = 0.1  # a cursor that is moving reads no file


class Detail(VerticalScroll, can_focus=True):
    """The pane of one row."""

    BINDINGS: ClassVar = bindings(TEXT)
    KEYS: ClassVar = TEXT

    def compose(self) -> ComposeResult:
        yield Flow()

    def draw(self, card: Card | None, context: _draw.Context = ()) -> None:
        def lay_out(width: int) -> Content:
            if card is None:
                return Content("")
            distance = _FEW if self.size.height < _LOW else _MANY
            return _draw.card(card, _draw.nearest(context, card.line, distance), width)

        self.query_one(Flow).show(lay_out)


class ContextRead(Message):
    """The source around the line of a card is at hand."""

    def __init__(self, card: Card, context: _draw.Context) -> None:
        super().__init__()
        self.card = card
        self.context = context


def read_context(code: CodeSource, card: Card, post: Any) -> None:
    """In a worker thread."""
    assert card.file is not None
    context = _draw.around(code.source(card.file, card.process), card.line)
    if context:
        post(ContextRead(card, context))


class TableScreen(PageScreen):
    """Draws ``page.table``. Where the cursor is, it stays through sorting, filtering and new reports."""

    BINDINGS: ClassVar = bindings(TABLE)
    KEYS: ClassVar[tuple[Key, ...]] = (*Grid.KEYS[:1], *PAGE[:1], *TABLE, *PAGE[1:])

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        assert page.table is not None
        self.table = page.table
        self.rows = Rows(self.table)
        self._card: Card | None = None
        self._key: Hashable = None
        self._timer: Timer | None = None
        self._warming: Timer | None = None

    def body(self) -> ComposeResult:
        yield Grid(self.rows, id="table")
        yield Detail()

    @property
    def grid(self) -> Grid:
        return self.query_one("#table", Grid)

    def show(self, report: Report) -> str | None:
        self.rows.load(self.table.rows(report))
        self.grid.fresh = self.explorer.fresh.get(self.page.name, ())
        self._restore()
        self.focus_body()
        if self.rows.total > _MANY_ROWS and self._warming is None:
            self._warming = self.set_interval(_WARM_EVERY_S, self._warm)
        return None if self.rows.total else self.table.empty(report)

    def _warm(self) -> None:
        """The first search of thousands of rows would be felt: their texts are made before it."""
        if self._warming is not None and self.is_current and self.rows.warm(_WARM_S):
            self._warming.stop()
            self._warming = None

    def unflash(self) -> None:
        """New rows look like all others again."""
        self.grid.fresh = ()
        self.grid.refresh()

    def select(self, key: Hashable) -> None:
        """Puts the cursor on the row with ``key``, at once or when this screen comes up."""
        self._key = key
        self.rows.keep("")
        if self.is_mounted:
            self._restore()

    def subject(self) -> Card | None:
        row = self.grid.current
        return None if row is None else self.table.card(row)

    def columns(self) -> Sequence[Column[Any]]:
        return self.table.columns

    def focus_body(self) -> None:
        if self.focused is None or self.focused.id == "prompt":
            self.grid.focus()

    def status(self) -> str:
        seen, total = len(self.rows.seen), self.rows.total
        position = f"{self.grid.cursor + 1:,} of {seen:,}" if seen else "no row"
        parts = [f"{position} (of {total:,})" if self.rows.filter else position]
        if self.rows.filter:
            parts.append(f"filter: {self.rows.filter}")
        if self.rows.sort_column is not None:
            parts.append(f"sorted by {self.table.columns[self.rows.sort_column].name}")
        if self.searched:
            parts.append(f"search: {self.searched} (n, N)")
        return " · ".join(parts)

    # -- rows -----------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """The cursor back on the row it was on last, also after a filter that left none."""
        index = None if self._key is None else self.rows.index_of(self._key)
        if index is not None:
            self.grid.cursor = index
        self.grid.redraw()

    def _rearranged(self) -> None:
        self._restore()
        self.update_status()

    def action_sort(self) -> None:
        self.rows.sort_next()
        self._rearranged()

    def action_reverse(self) -> None:
        self.rows.sort_by(self.rows.sort_column)
        self._rearranged()

    @on(Grid.HeaderClicked)
    def _sort_by(self, event: Grid.HeaderClicked) -> None:
        self.rows.sort_by(event.column)
        self._rearranged()

    def action_filter(self) -> None:
        self.ask("filter", self.rows.filter)

    def filter(self, text: str) -> None:
        if text == self.rows.filter:
            return
        self.rows.keep(text)
        if self.rows.total:
            none = f"No row has {text!r}. esc, and esc again, shows all {self.rows.total:,}."
            self.notice(None if self.rows.seen else none)
        self._rearranged()

    def search(self, text: str, step: int, *, typing: bool = False) -> bool:
        start = self.grid.cursor if typing else self.grid.cursor + step
        index = self.rows.find(text, start, step)
        if index is not None:
            self.grid.move_to(index)
        return index is not None

    # -- the row at the cursor ----------------------------------------------------------------------------

    @on(Grid.Moved)
    def _moved(self) -> None:
        self.update_status()
        if self.grid.current is not None:
            self._key = self.table.key(self.grid.current)
        card = self.subject()
        if card == self._card:
            return
        self._card = card
        detail = self.query_one(Detail)
        detail.draw(self._card)
        detail.scroll_to(y=0, animate=False, immediate=True)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_CONTEXT_DELAY_S, self._read)

    def _read(self) -> None:
        card, opened = self._card, self.explorer.opened
        if card is not None and opened is not None and card.file and card.line:
            read = partial(read_context, opened.code, card, self.post_message)
            self.run_worker(read, thread=True, exclusive=True, group="context")

    @on(ContextRead)
    def _context_read(self, event: ContextRead) -> None:
        if event.card is self._card:
            self.query_one(Detail).draw(event.card, event.context)

    @on(Grid.Opened)
    def _opened(self) -> None:
        if self.grid.current is not None:
            self.open_row(self.grid.current)

    def open_row(self, row: Any) -> None:
        """Shows what is under a row, or the texts about it."""
        if self.rows.has_children(row):
            self.rows.set_open(row, not self.rows.is_open(row))
            self._rearranged()
        else:
            self.explorer.look_at(self.table.card(row))

    @on(Grid.Unfolded)
    def _unfolded(self, event: Grid.Unfolded) -> None:
        row = self.grid.current
        if row is None:
            return
        if self.rows.has_children(row) and self.rows.is_open(row) != event.opened:
            self.rows.set_open(row, event.opened)
            self._rearranged()
        elif not event.opened:
            parent = self.rows.parent_index(self.grid.cursor)
            if parent is not None:
                self.grid.move_to(parent)
