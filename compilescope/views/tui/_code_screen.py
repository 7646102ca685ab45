"""The texts about one row: the user's source with the line marked, graphs, guards, generated code."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult

from compilescope.views.tui._card import Card
from compilescope.views.tui._code_entries import EntriesFound, Entry, Target, TextRead, read, search
from compilescope.views.tui._code_view import CodeView
from compilescope.views.tui._grid import Grid
from compilescope.views.tui._kernel_links import (
    GENERATED,
    kernel_at,
    kernels_of_line,
    lines_with_kernels,
    user_lines,
)
from compilescope.views.tui._keys import LINKS, PAGE, Key, bindings
from compilescope.views.tui._rows import Rows
from compilescope.views.tui._screen import PageScreen
from compilescope.views.tui._table import Column, Table
from compilescope.views.tui._words import one_line
from compilescope.views.tui.tables.findings import FINDINGS, fixable
from compilescope.views.tui.tables.frames import FRAMES

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._pages import Page

_EMPTY = "Choose a row on another screen and press enter: its source, graphs and generated code appear here."


def _card(entry: Entry) -> Card:
    return Card(entry.document.title)


_ENTRIES: Table[Entry] = Table(
    rows=lambda _report: [],
    columns=(
        Column("of", lambda entry: entry.owner, width=8),
        Column("text", lambda entry: one_line(entry.document.title, 300), cut="left"),
    ),
    card=_card,
    key=lambda entry: (entry.owner, entry.document.title),
    empty=lambda _report: _EMPTY,
)


class CodeScreen(PageScreen):
    """Texts are read in workers, and only the one that is looked at."""

    BINDINGS: ClassVar = bindings(LINKS)
    KEYS: ClassVar[tuple[Key, ...]] = (*Grid.KEYS[:1], *LINKS, *PAGE)

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._target: Target | None = None
        self._turns: dict[object, int] = {}
        self.rows = Rows(_ENTRIES)
        self._card: Card | None = None
        self._entry: Entry | None = None

    def body(self) -> ComposeResult:
        yield Grid(self.rows, id="documents")
        yield CodeView(id="text")

    @property
    def grid(self) -> Grid:
        return self.query_one("#documents", Grid)

    def look_at(self, subject: Card) -> None:
        """Another row is to be shown, at once or when this screen comes up."""
        self._card = subject
        self._shown = None

    def show(self, report: Report) -> str | None:
        self._card = self._card or _first(report)
        opened = self.explorer.opened
        if self._card is None or opened is None:
            return _EMPTY
        find = partial(search, opened.code, self._card, self.post_message)
        self.run_worker(find, thread=True, exclusive=True, group="entries")
        self.focus_body()
        return None

    def subject(self) -> Card | None:
        return self._card

    def status(self) -> str:
        if self._card is None:
            return ""
        found = f" · search: {self.searched} (n, N)" if self.searched else ""
        return one_line(self._card.title, 300) + found

    def focus_body(self) -> None:
        if self.focused is None or self.focused.id == "prompt":
            (self.query_one(CodeView) if self.searched else self.grid).focus()

    def search(self, text: str, step: int, *, typing: bool = False) -> bool:
        view = self.query_one(CodeView)
        if typing:
            view.match = None
        return view.find(text, step)

    @on(EntriesFound)
    def _found(self, event: EntriesFound) -> None:
        if event.subject is not self._card:
            return
        kept = self.grid.current
        self.rows.load(event.entries)
        index = self.rows.index_of(_ENTRIES.key(kept)) if kept else None
        if self._target is not None:
            index = self._target.index_in(event.entries)
        self.grid.cursor = index or 0
        self.notice(
            None if event.entries else "This row names no file and no compile, so there is no text to show."
        )
        self.grid.redraw()

    @on(Grid.Moved)
    def _moved(self) -> None:
        entry = self.grid.current
        if entry is not None and entry is not self._entry:
            self._entry = entry
            self.run_worker(
                partial(read, entry, self.post_message), thread=True, exclusive=True, group="text"
            )

    @on(TextRead)
    def _text(self, event: TextRead) -> None:
        if event.entry is not self._entry:
            return
        view = self.query_one(CodeView)
        if event.lines is None:
            view.show(["This text was not recorded, or cannot be read any more."], "text")
            return
        target, self._target = self._target, None
        line = event.entry.line if target is None else target.line_in(event.lines)
        view.show(event.lines, event.entry.document.language, line)
        if target is not None:
            view.focus()

    # -- from lines to kernels and back -------------------------------------------------------------------

    def action_link(self) -> None:
        report, card, entry = self.explorer.report, self._card, self._entry
        if report is None or card is None or entry is None:
            return
        if entry.owner == "source" and card.file:
            self._to_kernel(report, card, self.query_one(CodeView).cursor)
        elif entry.document.title.startswith(GENERATED):
            self._to_line(report, card, entry)
        else:
            self.say("lines lead to kernels in the source, and back in Inductor's code")

    def _to_kernel(self, report: Report, card: Card, line: int) -> None:
        links = kernels_of_line(report, card.file or "", line, card.process)
        if not links:
            known = lines_with_kernels(report, card.file or "")
            some = ", ".join(map(str, known[:8])) + (" ..." if len(known) > 8 else "")
            self.say(f"no kernel was made of line {line}" + (f"; of these: {some}" if known else ""))
            return
        link = links[self._turn((card.file, line), len(links))]
        self.say(f"{link.kernel.name} ({len(links)} of this line)")
        self._show_target(card, Target(f"[{link.compile_id}]", kernel=link.kernel.name), link.compile_id)

    def _to_line(self, report: Report, card: Card, entry: Entry) -> None:
        view, compile_id = self.query_one(CodeView), entry.owner.strip("[]")
        link = kernel_at(report, compile_id, card.process, view.lines, view.cursor)
        lines = [] if link is None else user_lines(link)
        if link is None or not lines:
            self.say("no kernel is named here" if link is None else f"lines of {link.kernel.name}: unknown")
            return
        line = lines[self._turn((compile_id, link.kernel.name), len(lines))]
        self.say(f"{link.kernel.name} comes of {len(lines)} lines")
        moved = replace(card, file=line.file, line=line.line, function=line.function, code=line.code)
        self._show_target(moved, Target("source", line=line.line), compile_id)

    def _turn(self, key: object, of: int) -> int:
        """Which of several it is this time: one after the other."""
        turn = self._turns.get(key, -1) + 1
        self._turns[key] = turn
        return turn % of

    def _show_target(self, card: Card, target: Target, compile_id: str) -> None:
        """Another text at a line of it; what is about the row is looked up again where that is needed."""
        self._target = target
        index = (
            target.index_in(self.rows.seen)
            if self._card is not None and card.file == self._card.file
            else None
        )
        if index is not None and index != self.grid.cursor:
            self.grid.move_to(index)
            return
        ids = card.compile_ids if compile_id in card.compile_ids else (compile_id, *card.compile_ids)
        self._entry = None
        self.look_at(replace(card, compile_ids=ids))
        self.update()

    @on(Grid.Opened)
    def _opened(self) -> None:
        self.query_one(CodeView).focus()


def _first(report: Report) -> Card | None:
    """What a person who came straight here most likely wants to see."""
    first = next(iter(fixable(report)), None)
    if first is not None and first.file:
        return FINDINGS.card(first)
    frames = FRAMES.rows(report)
    return FRAMES.card(frames[0]) if frames else None
