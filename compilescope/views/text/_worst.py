"""The "FIX FIRST" block: as many of the worst facts as the screen holds, in the richest form that fits."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

from compilescope.views.text._page import Line, Page, cells

if TYPE_CHECKING:
    from compilescope.analysis.report import Worst

_EVIDENCE_COLUMN = 39
_CODE_INDENT = 6
_LABEL_INDENT = 8


class _Form(IntEnum):
    FULL = 0
    NO_NOTE = 1
    EVIDENCE = 2
    TITLE = 3


# Forms of the first three, best first: the worst keeps its note longest.
_PLANS = (
    (0, 0, 0),
    (0, 0, 1),
    (0, 1, 1),
    (0, 1, 2),
    (0, 2, 2),
    (1, 2, 2),
    (1, 2, 3),
    (1, 3, 3),
    (2, 3, 3),
    (3, 3, 3),
)


def worst_lines(worst: list[Worst], page: Page, room: int, command: str) -> list[Line]:
    """Lines for the worst facts, at most ``room``; what does not fit is announced with ``command``."""
    everything = [
        line for number, item in enumerate(worst, 1) for line in _item(number, item, page, _Form.FULL)
    ]
    if len(everything) <= room:
        return everything
    lines, shown = _fit(worst, page, room - 1)
    left = len(worst) - shown
    more = f"and {left:,} more: {command}" if left else f"more on these: {command}"
    return [*lines, Line(page.clip(page.clean(more), page.width), "faint")][:room]


def _fit(worst: list[Worst], page: Page, room: int) -> tuple[list[Line], int]:
    for first in (3, 2, 1):
        for plan in _PLANS:
            lines = [
                line
                for number, (item, form) in enumerate(zip(worst[:first], plan, strict=False), 1)
                for line in _item(number, item, page, _Form(form))
            ]
            if len(lines) <= room:
                return _add_short(lines, worst, min(first, len(worst)), page, room)
    return [], 0


def _add_short(
    lines: list[Line], worst: list[Worst], shown: int, page: Page, room: int
) -> tuple[list[Line], int]:
    for number, item in enumerate(worst[shown:], shown + 1):
        for form in (_Form.EVIDENCE, _Form.TITLE):
            extra = _item(number, item, page, form)
            if len(lines) + len(extra) <= room:
                lines, shown = lines + extra, number
                break
        else:
            break
    return lines, shown


def _item(number: int, item: Worst, page: Page, form: _Form) -> list[Line]:
    lines = [Line(text, "strong") for text in _title(number, item, page)]
    if form <= _Form.EVIDENCE:
        lines += [Line(text) for text in _evidence(item, page)]
    if form <= _Form.NO_NOTE:
        lines += _labelled("cost", item.cost, page, 2)
        lines += _labelled("fix", item.fix, page, 3 if form == _Form.FULL else 2)
    if form == _Form.FULL:
        lines += _labelled("note", item.note, page, 3)
    return lines


def _labelled(label: str, text: str | None, page: Page, max_lines: int) -> list[Line]:
    rows = page.hanging(f"  {label}", text, _LABEL_INDENT, max_lines) if text else []
    return [Line(row) for row in rows]


def _title(number: int, item: Worst, page: Page) -> list[str]:
    place = page.middle(page.clean(_place(item)), page.width * 45 // 100)
    prefix = f"{number} "
    width = page.width - len(prefix) - cells(place) - 2
    rows = page.wrap(page.clean(item.title), width, 2) or [""]
    first = page.ends(prefix + rows[0], place)
    return [first, *(" " * len(prefix) + row for row in rows[1:])]


def _place(item: Worst) -> str:
    if item.file is None:
        return item.function or ""
    return item.file if item.line is None else f"{item.file}:{item.line}"


def _evidence(item: Worst, page: Page) -> Iterator[str]:
    """The user's line of code and, beside it where both fit, what happened to it."""
    width = page.width - _CODE_INDENT
    code = page.clean((item.code or "").strip())
    detail = page.clean(item.detail or "")
    column = max(_EVIDENCE_COLUMN, _CODE_INDENT + cells(code) + 2)
    indent = " " * _CODE_INDENT
    if code and detail and column + cells(detail) <= page.width:
        yield (indent + code) + " " * (column - _CODE_INDENT - cells(code)) + detail
        return
    if code:
        yield indent + page.clip(code, width)
    for row in page.wrap(detail, width, 2):
        yield indent + row
