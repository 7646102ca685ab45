"""One row told in full: what the detail pane draws and what is copied as Markdown, from the same facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compilescope.views.tui._words import one_line, place

_MOST_ITEMS = 60


@dataclass(frozen=True, slots=True)
class Card:
    """``facts`` without a value are left out; ``lists`` are named groups of lines, ``left`` by their name how
    many lines more there are.
    """

    title: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    process: str | None = None
    code: str | None = None  # the user's line
    facts: Sequence[tuple[str, str | None]] = ()
    notes: Sequence[str | None] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()
    compile_ids: Sequence[str] = ()
    left: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return place(self.file, self.line)

    def told(self) -> Iterator[tuple[str, str]]:
        """The facts that are known, the place first."""
        where = self.place
        if where:
            yield "where", f"{where} in {self.function}" if self.function else where
        for label, text in self.facts:
            if text:
                yield label, text
        if self.compile_ids:
            yield "compiles", compile_list(self.compile_ids)
        if self.process:
            yield "process", self.process

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """The lists that are not empty, at most 60 items each and a word on the rest."""
        for label, items in self.lists:
            left = max(len(items) - _MOST_ITEMS, 0) + (self.left.get(label) or 0)
            if items:
                yield label, [*items[:_MOST_ITEMS], *([f"and {left:,} more"] if left else [])]


def compile_list(ids: Sequence[str]) -> str:
    """'[0/0] [0/1] [0/2] and 5 more'."""
    left = len(ids) - 6
    shown = " ".join(f"[{name}]" for name in ids[:6])
    return f"{shown} and {left:,} more" if left > 0 else shown


def markdown(card: Card) -> str:
    """For an issue or a chat: every recorded string is code, so that it cannot act as markup."""
    lines = [f"**{_plain(card.title)}**", ""]
    if card.code:
        lines += [_fenced(one_line(card.code.strip())), ""]
    lines += [f"- {label}: {_code(text)}" for label, text in card.told()]
    lines += [f"- note: {_plain(note)}" for note in card.notes if note]
    for label, items in card.groups():
        lines += ["", f"{label}:", "", *(f"- {_code(item)}" for item in items)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!~&" else char for char in one_line(text))


def _code(text: str) -> str:
    shown = one_line(text)
    ticks = "`" * (_longest_run(shown) + 1)
    space = " " if "`" in shown or not shown.strip() else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}python\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
