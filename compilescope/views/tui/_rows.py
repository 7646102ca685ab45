"""Which rows of a table are seen, in which order: sorting, filtering, searching, opening. No widgets."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compilescope.views.tui._table import Table


class Rows:
    """The state of one table on screen. ``seen`` is what the grid draws; ``total`` counts unfiltered rows."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        self.seen: Sequence[Any] = ()
        self.total = 0
        self.sort_column: int | None = None
        self.reversed = False
        self.filter = ""
        self._all: Sequence[Any] = ()
        self._opened: set[Hashable] = set()
        self._texts: dict[int, tuple[Any, str]] = {}
        self._warmed = 0

    def load(self, rows: Sequence[Any]) -> None:
        """Takes new rows; sorting, filter and what is open stay."""
        self._all = rows
        self.total = len(self._all)
        self._texts = {}
        self._warmed = 0
        self._arrange()

    def sort_by(self, column: int | None) -> None:
        """The largest first; the same column again turns the order round. None: the report's own order."""
        self.reversed = column is not None and column == self.sort_column and not self.reversed
        self.sort_column = column
        self._arrange()

    def sort_next(self) -> None:
        """The next column that can be sorted, after the last one the report's own order."""
        able = [None, *(n for n, column in enumerate(self.table.columns) if column.sort)]
        self.reversed = False
        self.sort_column = able[(able.index(self.sort_column) + 1) % len(able)]
        self._arrange()

    def keep(self, text: str) -> None:
        """Only rows with ``text`` in a cell, in any case; all rows for an empty one."""
        self.filter = text
        self._arrange()

    def find(self, text: str, start: int, step: int) -> int | None:
        """Index of the next seen row with ``text``, from ``start`` on in steps of ``step``, round the end."""
        wanted, count = text.casefold(), len(self.seen)
        for distance in range(count):
            index = (start + step * distance) % count
            if wanted in self._text(self.seen[index]):
                return index
        return None

    def warm(self, budget_s: float) -> bool:
        """Makes texts to search in for at most ``budget_s``; True when those of all rows are there."""
        until_s = time.perf_counter() + budget_s
        while self._warmed < len(self._all):
            self._text(self._all[self._warmed])
            self._warmed += 1
            if time.perf_counter() > until_s:
                return False
        return True

    def index_of(self, key: Hashable) -> int | None:
        return next((n for n, row in enumerate(self.seen) if self.table.key(row) == key), None)

    def has_children(self, row: Any) -> bool:
        return self.table.children is not None and bool(self.table.children(row))

    def is_open(self, row: Any) -> bool:
        return self.table.key(row) in self._opened

    def set_open(self, row: Any, opened: bool) -> None:
        """Shows or hides the children of ``row``."""
        if opened:
            self._opened.add(self.table.key(row))
        else:
            self._opened.discard(self.table.key(row))
        self._arrange()

    def parent_index(self, index: int) -> int | None:
        """Where the row stands whose child the seen row at ``index`` is."""
        row, children = self.seen[index], self.table.children
        if children is not None:
            for above in range(index - 1, -1, -1):
                if any(child is row for child in children(self.seen[above])):
                    return above
        return None

    def _arrange(self) -> None:
        rows = list(self._all)
        if self.filter:
            wanted = self.filter.casefold()
            rows = [row for row in rows if wanted in self._text(row)]
        if self.sort_column is not None:
            sort = self.table.columns[self.sort_column].sort
            assert sort is not None
            rows.sort(key=sort, reverse=not self.reversed)
        self.seen = list(self._with_children(rows)) if self._opened else rows

    def _with_children(self, rows: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for row in rows:
            found.append(row)
            if self.table.children and self.table.key(row) in self._opened:
                found += self._with_children(self.table.children(row))
        return found

    def _text(self, row: Any) -> str:
        # The row is kept beside its text: as long as it lives no other object gets its id.
        kept = self._texts.get(id(row))
        if kept is None:
            text = "\n".join(column.cell(row) for column in self.table.columns).casefold()
            kept = self._texts[id(row)] = (row, text)
        return kept[1]
