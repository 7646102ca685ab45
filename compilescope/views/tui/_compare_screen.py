"""Two recordings: the verdict, and everything that differs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from compilescope.views.tui._draw import LABEL, STRONG
from compilescope.views.tui._flow import Flow
from compilescope.views.tui._grid import Grid
from compilescope.views.tui._keys import Key
from compilescope.views.tui._table_screen import Detail, TableScreen
from compilescope.views.tui._words import fit, one_line, wrap
from compilescope.views.tui.tables.compare import COMPARE, NO_BASE, differences

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.compare.diff import Diff

_MOST_LINES = 3


class CompareScreen(TableScreen):
    """The difference comes with the report; there is none before a second recording is named."""

    KEYS: ClassVar[tuple[Key, ...]] = TableScreen.KEYS

    def body(self) -> ComposeResult:
        with Container(id="compared"):
            with Container(id="left"):
                yield Flow(id="facts")
                yield Grid(self.rows, id="table")
            yield Detail()

    def show(self, report: Report) -> str | None:
        opened = self.explorer.opened
        diff = opened.diff if opened is not None else None
        if diff is None:
            return (opened.diff_problem if opened is not None else "") or NO_BASE
        self.query_one("#facts", Flow).show(partial(head, diff))
        self.rows.load(differences(diff))
        self._restore()
        self.focus_body()
        return None if self.rows.total else COMPARE.empty(report)


def head(diff: Diff, width: int) -> Content:
    """Which two runs, and how they compare."""
    names = f"base {one_line(diff.base.name, 80)}, head {one_line(diff.head.name, 80)}: {diff.direction}"
    lines = [Content.styled(fit(names, width).rstrip(), STRONG)]
    lines += [Content(line) for line in wrap(one_line(" ".join(diff.verdict), 600), width, _MOST_LINES)]
    if diff.conditions:
        hard = f"hard to compare: {one_line('; '.join(diff.conditions), 300)}"
        lines += [Content.styled(line, LABEL) for line in wrap(hard, width, 2)]
    return Content("\n").join(lines)
