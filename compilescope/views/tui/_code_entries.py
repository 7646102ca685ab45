"""Texts about a row that can be shown, found and read in worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual.message import Message

from compilescope.views.tui._card import Card
from compilescope.views.tui._code_view import colored
from compilescope.views.tui._kernel_links import GENERATED, place_of
from compilescope.views.tui._source import CodeSource, Document

_MOST_COMPILES = 40
_WARM_LINES = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A text that can be shown. ``line`` is marked in it."""

    owner: str
    document: Document
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where a jump leads: the text of ``owner``, at a line of the source or where a kernel is named."""

    owner: str
    line: int | None = None
    kernel: str = ""

    def index_in(self, entries: Sequence[Entry]) -> int | None:
        wanted = GENERATED if self.kernel else ""
        return next(
            (
                number
                for number, entry in enumerate(entries)
                if entry.owner == self.owner and entry.document.title.startswith(wanted)
            ),
            None,
        )

    def line_in(self, text: Sequence[str]) -> int | None:
        return place_of(text, self.kernel) if self.kernel else self.line


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


def search(code: CodeSource, subject: Card, post: Any) -> None:
    post(EntriesFound(subject, find_entries(code, subject)))


def read(entry: Entry, post: Any) -> None:
    text = entry.document.read()
    lines = None if text is None else text.splitlines()
    for line in (lines or [])[:_WARM_LINES]:
        colored(entry.document.language, line)  # loads the lexer here, not while a key waits
    post(TextRead(entry, lines))
