"""What a newer report says that the one before did not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from compilescope.units import count
from compilescope.views.tui._pages import PAGES
from compilescope.views.tui._words import one_line

if TYPE_CHECKING:
    from compilescope.analysis.report import Report


def news(before: Report, after: Report) -> Mapping[str, frozenset[Hashable]]:
    """Keys of the new rows by name of the screen; nothing when another program was started in between."""
    if before.recording.started != after.recording.started:
        return {}
    found: dict[str, frozenset[Hashable]] = {}
    for page in PAGES:
        if page.table is not None and page.news:
            key, rows = page.table.key, page.table.rows
            new = frozenset(map(key, rows(after))) - frozenset(map(key, rows(before)))
            if new:
                found[page.name] = new
    return found


def told(report: Report, fresh: Mapping[str, frozenset[Hashable]]) -> Iterator[str]:
    """One line for each screen with news: 'new graph break: train.py:42'."""
    for page in PAGES:
        if page.table is None or page.name not in fresh:
            continue
        rows = [row for row in page.table.rows(report) if page.table.key(row) in fresh[page.name]]
        if len(rows) == 1:
            card = page.table.card(rows[0])
            yield one_line(f"new {page.news}: {card.place} {card.title}", 200)
        else:
            yield f"{count(len(rows), f'new {page.news}')}"
