"""Cutting generated Python without parsing all of it: texts may be torn, and are long."""

from __future__ import annotations

_OPEN, _CLOSE = "([{", ")]}"


def arguments(text: str, start: int) -> tuple[list[str], int]:
    """The top-level, comma-separated pieces after an opening bracket at ``start - 1``, and where they end.

    A text that breaks off gives what there is; strings are skipped whole.
    """
    pieces: list[str] = []
    depth, piece, i = 0, start, start
    while i < len(text):
        letter = text[i]
        if letter in "\"'":
            i = _string_end(text, i)
            continue
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            if depth == 0:
                break
            depth -= 1
        elif letter == "," and depth == 0:
            pieces.append(text[piece:i].strip())
            piece = i + 1
        i += 1
    pieces.append(text[piece:i].strip())
    return [p for p in pieces if p], i


def _string_end(text: str, start: int) -> int:
    quote, i = text[start], start + 1
    while i < len(text) and text[i] != quote:
        i += 2 if text[i] == "\\" else 1
    return i + 1


def tuple_items(text: str) -> tuple[str, ...]:
    """``(4, s27, )`` or ``[4, s27]`` -> ("4", "s27")."""
    inner = text.strip()
    if inner[:1] not in _OPEN or not inner:
        return ()
    return tuple(arguments(inner, 1)[0])


def call_of(text: str) -> tuple[str, list[str]] | None:
    """``name.of(a, b)`` -> ("name.of", ["a", "b"]); None if the text is not a call."""
    name, found, _ = text.partition("(")
    if not found or not name or not all(part.isidentifier() for part in name.strip().split(".")):
        return None
    return name.strip(), arguments(text, len(name) + 1)[0]
