"""Plain tables for a terminal: as wide as their cells, the widest columns cut where the page is narrower.

A name is cut in its middle, since both ends tell it from others; a list loses its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from compilescope.views.text._page import Page, cells

_GAP = 2
_NARROWEST = 6


def table(page: Page, heads: Sequence[str], rows: Sequence[Sequence[str]], *, indent: int = 2) -> list[str]:
    """A head that starts with ``>`` is of numbers: its column stands to the right. At most 500 rows."""
    names = [head.lstrip(">") for head in heads]
    shown = [[page.clean(cell) for cell in row] for row in rows[:500]]
    widths = [max(map(cells, column)) for column in zip(names, *shown, strict=True)]
    _shrink(widths, page.width - indent - _GAP * (len(widths) - 1))
    right = [head.startswith(">") for head in heads]
    lines = [_line(page, row, widths, right, indent) for row in (names, *shown)]
    left = len(rows) - len(shown)
    return [*lines, *([f"{' ' * indent}and {left:,} more"] if left > 0 else [])]


def _shrink(widths: list[int], room: int) -> None:
    while sum(widths) > room and max(widths) > _NARROWEST:
        widest = widths.index(max(widths))
        second = max((w for n, w in enumerate(widths) if n != widest), default=0)
        over = sum(widths) - room
        widths[widest] = max(widths[widest] - over, min(second, widths[widest] - 1), _NARROWEST)


def _line(page: Page, row: Sequence[str], widths: Sequence[int], right: Sequence[bool], indent: int) -> str:
    parts = []
    for cell, width, is_number in zip(row, widths, right, strict=True):
        text = page.clip(cell, width) if ", " in cell else page.middle(cell, width)
        pad = " " * (width - cells(text))
        parts.append(pad + text if is_number else text + pad)
    return (" " * indent + (" " * _GAP).join(parts)).rstrip()
