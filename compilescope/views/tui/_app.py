"""The application: holds the report and the screens, and lets them talk."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import App, SystemCommand
from textual.screen import Screen

from compilescope.views.tui._code_screen import CodeScreen
from compilescope.views.tui._follow import (
    Exported,
    Follower,
    Glanced,
    ReadFailed,
    ReportRead,
    export,
    seconds_of,
    state,
)
from compilescope.views.tui._keys import EXPLORER, bindings
from compilescope.views.tui._news import news, told
from compilescope.views.tui._pages import PAGES, Page
from compilescope.views.tui._screen import SMALLEST, PageScreen
from compilescope.views.tui._screens import screen_of
from compilescope.views.tui._table_screen import TableScreen

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._card import Card
    from compilescope.views.tui._source import Opened, ReportSource

_FLASH_S = 4.0


class Explorer(App[None]):
    """``follow`` reads the recording again whenever it has grown."""

    CSS_PATH = Path(__file__).with_name("explorer.tcss")
    TITLE = "CompileScope"
    BINDINGS: ClassVar = bindings(EXPLORER)
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-thin"),
        (SMALLEST[0], "-narrow"),
        (100, "-normal"),
        (140, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SMALLEST[1], "-tall")]  # noqa: RUF012

    def __init__(
        self,
        source: ReportSource,
        *,
        follow: bool = False,
        interrupt: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.opened: Opened | None = None
        self.waiting = f"Reading {source.name} ..."
        self.problem: Exception | None = None
        self.fresh: Mapping[str, frozenset[Hashable]] = {}
        self._source = source
        self._follow = follow
        self._interrupt = interrupt
        self._clock = clock
        self._trouble = ""
        self._changed_s = 0.0
        self._places: list[str] = []
        self._follower = Follower(source, self.post_message, follow=follow)

    @property
    def report(self) -> Report | None:
        return self.opened.report if self.opened else None

    @property
    def output(self) -> Callable[[], str | None] | None:
        """Reads what the program printed, where that was kept."""
        return self._source.output()

    def is_named(self, page: Page) -> bool:
        """Whether the line at the top names it: there is something on it."""
        if page.name == "output":
            return self.output is not None
        if page.name == "compare":
            return self.opened is not None and bool(self.opened.diff or self.opened.diff_problem)
        return page.is_for(self.report)

    def on_mount(self) -> None:
        for page in PAGES:
            self.install_screen(screen_of(page), page.name)
        self.push_screen(PAGES[0].name)
        self._follower.start()
        if self._follow:
            self.set_interval(1, self._tick)

    def on_unmount(self) -> None:
        self._follower.stop()

    # -- the report -----------------------------------------------------------------------------------

    @on(ReportRead)
    def _read(self, event: ReportRead) -> None:
        before, self.opened, self._trouble = self.report, event.opened, ""
        self._changed_s = self._clock()
        if before is not None:
            self._announce(before, event.opened.report)
        self._update()

    @on(Glanced)
    def _glanced(self, event: Glanced) -> None:
        self.waiting = event.text
        self._update()

    @on(ReadFailed)
    def _failed(self, event: ReadFailed) -> None:
        if self.report is None and not self._follow:
            self.problem = event.problem
            self.exit()
        self._trouble = event.text
        self.waiting = event.text + ("\n\nWaiting for it." if self._follow else "")
        self._update()

    def _announce(self, before: Report, after: Report) -> None:
        self.fresh = news(before, after)
        for text in told(after, self.fresh):
            self.notify(text, markup=False, timeout=_FLASH_S)
        if self.fresh:
            self.set_timer(_FLASH_S, self._unflash)

    def _unflash(self) -> None:
        self.fresh = {}
        if isinstance(self.page, TableScreen):
            self.page.unflash()

    def state(self) -> str:
        """The right half of every status line: what the program that is followed does."""
        report = self.report
        if self._trouble and report is not None:
            return "the recording cannot be read now; this is what was read last"
        if report is None or not self._follow:
            return ""
        now_s = self._clock()
        started_s = seconds_of(report.recording.started)
        return state(report, now_s, started_s, now_s - self._changed_s)

    @property
    def page(self) -> PageScreen | None:
        """The screen in front, or under a sheet."""
        return next(
            (screen for screen in reversed(self.screen_stack) if isinstance(screen, PageScreen)), None
        )

    def _update(self) -> None:
        if self.page is not None:
            self.page.update()

    def _tick(self) -> None:
        if self.page is not None:
            self.page.update_status()

    # -- going from screen to screen ------------------------------------------------------------------

    def action_show(self, name: str) -> None:
        page = self.page
        if page is None or page is not self.screen or page.page.name == name:
            return
        self._places.append(page.page.name)
        self.switch_screen(name)

    def action_go(self, number: int) -> None:
        if number <= len(PAGES):
            self.action_show(PAGES[number - 1].name)

    def action_step(self, step: int) -> None:
        if self.page is not None:
            here = self.page.page
            names = [page.name for page in PAGES if self.is_named(page) or page is here]
            self.action_show(names[(names.index(here.name) + step) % len(names)])

    def action_go_back(self) -> None:
        if self._places and self.page is self.screen:
            self.switch_screen(self._places.pop())

    def look_at(self, subject: Card) -> None:
        """Shows the texts about a row."""
        cast("CodeScreen", self.get_screen("code")).look_at(subject)
        self.action_show("code")

    def show_row(self, name: str, key: Hashable) -> None:
        """Goes to a row of another screen."""
        cast("TableScreen", self.get_screen(name)).select(key)
        self.action_show(name)

    def action_export(self) -> None:
        if self.report is not None:
            write = partial(export, self._source, self.report, self.post_message)
            self.run_worker(write, thread=True, exclusive=True, group="export")

    @on(Exported)
    def _exported(self, event: Exported) -> None:
        if self.page is not None:
            self.page.say(event.text)

    def compare_with(self, base: str) -> None:
        """Reads again, with a second recording beside this one."""
        self._source.compare_with(base)
        self._follower.read_again()
        self.action_show("compare")

    def action_compare(self) -> None:
        if self.page is not None and self.page is self.screen:
            self.page.ask("compare", "")

    def action_interrupt(self) -> None:
        """As ctrl-c in the program's own terminal would; the explorer stays."""
        if self._interrupt is None:
            self.action_help_quit()
        elif self.page is not None:
            self.page.say(self._interrupt())

    def action_reload(self) -> None:
        self._follower.read_again()

    def action_help(self) -> None:
        if self.page is not None and self.page is self.screen:
            self.page.action_help()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for page in PAGES:
            yield SystemCommand(
                f"go: {page.label}", page.question, lambda name=page.name: self.action_show(name)
            )
        yield SystemCommand("export: web page", "Write the report as one HTML file", self.action_export)
        yield SystemCommand("recording: read again", "Look for what was written since", self.action_reload)
