"""The texts about one row: the user's source with the line marked, graphs, guards, generated code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.message import Message

from compilescope.views.tui._card import Card
from compilescope.views.tui._code_view import CodeView, colored
from compilescope.views.tui._grid import Grid
from compilescope.views.tui._keys import PAGE, Key
from compilescope.views.tui._rows import Rows
from compilescope.views.tui._screen import PageScreen
from compilescope.views.tui._source import CodeSource, Document
from compilescope.views.tui._table import Column, Table
from compilescope.views.tui._words import one_line
from compilescope.views.tui.tables.findings import FINDINGS, fixable
from compilescope.views.tui.tables.frames import FRAMES

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._pages import Page

_MOST_COMPILES = 40
_WARM_LINES = 3
_EMPTY = "Choose a row on another screen and press enter: its source, graphs and generated code appear here."


@dataclass(frozen=True, slots=True)
class Entry:
    """A text that can be shown. ``line`` is marked in it."""

    owner: str
    document: Document
    line: int | None = None


class EntriesFound(Message):
    def __init__(self, subject: Card, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.subject = subject
        self.entries = entries


class TextRead(Message):
    def __init__(self, entry: Entry, lines: Sequence[str] | None) -> None:
        super().__init__()
        self.entry = entry
        self.lines = lines


def find_entries(code: CodeSource, subject: Card) -> list[Entry]:
    """The source, then what was recorded of each compile. In a worker thread."""
    entries = []
    if subject.file:
        read = partial(code.source, subject.file, subject.process)
        language = "python" if subject.file.endswith((".py", ".pyi")) else "text"
        entries.append(Entry("source", Document(subject.place, language, read), subject.line))
    for compile_id in subject.compile_ids[:_MOST_COMPILES]:
        documents = code.documents(compile_id, subject.process)
        entries += [Entry(f"[{compile_id}]", document) for document in documents]
    return entries


def _search(code: CodeSource, subject: Card, post: Any) -> None:
    post(EntriesFound(subject, find_entries(code, subject)))


def _read(entry: Entry, post: Any) -> None:
    text = entry.document.read()
    lines = None if text is None else text.splitlines()
    for line in (lines or [])[:_WARM_LINES]:
        colored(entry.document.language, line)  # loads the lexer here, not while a key waits
    post(TextRead(entry, lines))


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

    KEYS: ClassVar[tuple[Key, ...]] = (*Grid.KEYS[:1], *PAGE)

    def __init__(self, page: Page) -> None:
        super().__init__(page)
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
        find = partial(_search, opened.code, self._card, self.post_message)
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
                partial(_read, entry, self.post_message), thread=True, exclusive=True, group="text"
            )

    @on(TextRead)
    def _text(self, event: TextRead) -> None:
        if event.entry is not self._entry:
            return
        view = self.query_one(CodeView)
        if event.lines is None:
            view.show(["This text was not recorded, or cannot be read any more."], "text")
        else:
            view.show(event.lines, event.entry.document.language, event.entry.line)

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
