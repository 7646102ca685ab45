"""Recorded text as Markdown that GitHub shows as it is: no mention, link, tag or table of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compilescope.units import visible

# What GitHub's Markdown gives a meaning inside a line.
_ACTIVE = re.compile(r"[\\`*_\[\]<>|~&#$]")
# "- ", "1. " and "---" begin something at the start of a line.
_FIRST = re.compile(r"^(\d+(?=[.)](?: |$))|(?=[-+=]))(.)")
# "@name" would notify a person, "#12" and a URL would become links: a zero-width space parts them.
_CALLS = re.compile(r"[@#](?=\w)|\b(?:https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.)|\bGH(?=-\d)", re.IGNORECASE)
_HOLD = "\u200b"
_TICKS = re.compile(r"`+")


def clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def plain(text: str, most: int = 400) -> str:
    """One line of text, nothing in it active."""
    line = clip(" ".join(visible(text, keep="\n").split()), most)
    held = _CALLS.sub(lambda match: match.group() + _HOLD, line)
    escaped = _ACTIVE.sub(lambda match: "\\" + match.group(), held)
    return _FIRST.sub(r"\1\\\2", escaped)


def code(text: str, most: int = 200, *, cell: bool = False) -> str:
    """A code span: a fence longer than any run of backticks in it; in a table a pipe needs an escape."""
    line = clip(" ".join(visible(text, keep="\n").split()), most)
    if not line:
        return ""
    fence = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    inner = line.replace("|", "\\|") if cell else line
    return f"{fence}{pad}{inner}{pad}{fence}"


def prose(text: str, most: int = 600, *, cell: bool = False) -> str:
    """A sentence of ours with code in backticks; an odd backtick is only a character."""
    parts = clip(text, most).split("`")
    if len(parts) % 2 == 0:
        return plain(text, most)
    pieces = [
        code(part, most, cell=cell) if number % 2 and part.strip() else _spaced(part, most)
        for number, part in enumerate(parts)
    ]
    return "".join(pieces).strip()


def _spaced(part: str, most: int) -> str:
    """Text between two pieces of code keeps the spaces at its ends."""
    if not part.strip():
        return " " if part else ""
    return (" " if part[0].isspace() else "") + plain(part, most) + (" " if part[-1].isspace() else "")


def block(text: str, language: str = "", most_lines: int = 60, longest: int = 200) -> str:
    """A fenced block, its lines cut at ``longest`` characters."""
    lines = text.replace("\r\n", "\n").split("\n")
    shown = [clip(visible(line), longest) for line in lines[:most_lines]]
    if len(lines) > most_lines:
        shown.append(f"… and {len(lines) - most_lines} more lines")
    longest = max((len(run) for line in shown for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *shown, fence])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are Markdown already. A head that starts with ``>`` is of numbers."""
    names = [head.lstrip(">") for head in heads]
    rule = ["---:" if head.startswith(">") else "---" for head in heads]
    return "\n".join("| " + " | ".join(row) + " |" for row in (names, rule, *rows))


def place(file: str | None, line: int | None, *, cell: bool = False) -> str:
    if file is None:
        return ""
    return code(file if line is None else f"{file}:{line}", cell=cell)
