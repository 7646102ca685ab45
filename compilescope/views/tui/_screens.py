"""Which class draws which page."""

from __future__ import annotations

from collections.abc import Mapping

from compilescope.views.tui._code_screen import CodeScreen
from compilescope.views.tui._compare_screen import CompareScreen
from compilescope.views.tui._ladder_screen import LadderScreen
from compilescope.views.tui._output_screen import OutputScreen
from compilescope.views.tui._overview import OverviewScreen
from compilescope.views.tui._pages import Page
from compilescope.views.tui._screen import PageScreen
from compilescope.views.tui._table_screen import TableScreen

_SPECIAL: Mapping[str, type[PageScreen]] = {
    "overview": OverviewScreen,
    "ladder": LadderScreen,
    "compare": CompareScreen,
    "output": OutputScreen,
}


def screen_of(page: Page) -> PageScreen:
    """A page with a table is drawn as one, any other as texts."""
    return _SPECIAL.get(page.name, TableScreen if page.table else CodeScreen)(page)
