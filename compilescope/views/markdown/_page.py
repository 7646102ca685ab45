"""Blocks of Markdown under the size a comment may have: the last ones are left out, and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 60_000  # GitHub takes 65,536
MARKER = "<!-- compilescope -->"
_NOTE_ROOM = 1_000


@dataclass(frozen=True, slots=True)
class Block:
    """``name`` says what is left out when the block is."""

    name: str
    text: str


def page(blocks: Sequence[Block], most: int = MAX_CHARACTERS) -> str:
    """The marker, which lets the next run find its own comment, then as many blocks as fit, in order."""
    parts, used = [MARKER], len(MARKER)
    dropped: list[str] = []
    for block in blocks:
        longer = used + len(block.text) + 2
        if dropped or longer > most - _NOTE_ROOM:
            dropped.append(block.name)
            continue
        parts.append(block.text)
        used = longer
    if dropped:
        names = ", ".join(dropped)
        shown = names if len(names) <= _NOTE_ROOM - 200 else names[: _NOTE_ROOM - 200] + "…"
        parts.append(f"_Left out, to stay below {most:,} characters: {shown}._")
    return "\n\n".join(parts) + "\n"


def details(title: str, text: str) -> str:
    """Closed until it is clicked. ``title`` is ours, or escaped."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
