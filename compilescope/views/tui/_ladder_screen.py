"""The planner's ladder for the sizes of a function, planned again at each key that changes a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message

from compilescope.errors import CompileScopeError
from compilescope.views.tui._card import Card
from compilescope.views.tui._flow import Flow
from compilescope.views.tui._keys import LADDER, PAGE, TEXT, Key, bindings
from compilescope.views.tui._ladder_picture import cost, picture, rungs, worth
from compilescope.views.tui._screen import PageScreen
from compilescope.views.tui._words import one_line, place
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.analysis.report_ladder import Ladder
    from compilescope.views.tui._pages import Page

_KINDS = ("pads and pins", "pads", "pins")
_MOST_RUNGS = 64
_LARGEST_ALIGN = 4096
_EMPTY = (
    "No function of this recording was called with different sizes often enough to plan a ladder for.\n\n"
    "compilescope ladder plans one from a file of sizes."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the keys have set: which function, at most how many rungs, multiples of what, which kinds."""

    function: int = 0
    rungs: int = 8
    align: int = 1
    kinds: Literal["pads and pins", "pads", "pins"] = "pads and pins"


class Planned(Message):
    """A plan is at hand, or the reason why there is none."""

    def __init__(self, wish: Wish, ladder: Ladder | None, problem: str) -> None:
        super().__init__()
        self.wish = wish
        self.ladder = ladder
        self.problem = problem


def plan(report: Report, wish: Wish, post: Callable[[Message], object]) -> None:
    """In a worker thread: it loads numpy."""
    from compilescope.analysis.call_costs import sampled_costs
    from compilescope.analysis.ladders import compact
    from compilescope.analysis.traffic import frames_with_traffic
    from compilescope.ladder.planner import Limits, study_ladder

    shown = report.ladders[wish.function]
    label = f"{shown.function} {place(shown.file, shown.line)}"
    try:
        found = next(each for each in frames_with_traffic(report) if each.traffic.label == label)
        found = found.only(shown.symbols)
        costs, notes = sampled_costs(report, found)
        limits = Limits(wish.rungs, wish.align, pins=wish.kinds != "pads", pads=wish.kinds != "pins")
        study = study_ladder(found.traffic, costs, limits)
    except (CompileScopeError, StopIteration) as problem:
        post(Planned(wish, None, str(problem) or "the sizes of this function are not in the report"))
        return
    post(Planned(wish, compact(replace(study, notes=(*notes, *study.notes))), ""))


class LadderScreen(PageScreen):
    """The plan of the report first; every other one is made in a worker."""

    BINDINGS: ClassVar = bindings((*LADDER, *TEXT))
    KEYS: ClassVar[tuple[Key, ...]] = (
        *LADDER,
        *(key for key in PAGE if key.action in ("copy", "show_copy", "edit")),
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.wish = Wish()
        self._ladder: Ladder | None = None
        self._planning = False

    def body(self) -> ComposeResult:
        with VerticalScroll(id="ladder", can_focus=True):
            yield Flow(id="picture")

    def show(self, report: Report) -> str | None:
        if not report.ladders:
            return nothing(report, _EMPTY)
        self.wish = replace(self.wish, function=min(self.wish.function, len(report.ladders) - 1))
        self._draw(report.ladders[self.wish.function])
        self.focus_body()
        if self.wish != Wish(self.wish.function):
            self._plan()
        return None

    def focus_body(self) -> None:
        self.query_one("#ladder").focus()

    def subject(self) -> Card | None:
        ladder = self._ladder
        if ladder is None:
            return None
        return Card(
            title=f"bucket ladder for {', '.join(ladder.symbols)} of {ladder.function}",
            file=ladder.file,
            line=ladder.line,
            function=ladder.function,
            code=ladder.code.strip().splitlines()[-1] if ladder.code.count("\n") <= 3 else None,
            facts=[("rungs", rungs(ladder)), ("worth", worth(ladder))],
            notes=ladder.notes,
            lists=[
                ("code", ladder.code.strip().splitlines()),
                ("cost of a call", [f"{each.name}: {cost(ladder, each.cost)}" for each in ladder.rivals]),
            ],
        )

    def status(self) -> str:
        report = self.explorer.report
        if report is None or not report.ladders:
            return ""
        shown, wish = report.ladders[self.wish.function], self.wish
        name = f"{shown.function} ({wish.function + 1} of {len(report.ladders)})"
        parts = [name, f"at most {wish.rungs} rungs", f"multiples of {wish.align}", wish.kinds]
        return one_line(" · ".join([*parts, *(["planning"] if self._planning else [])]), 300)

    def search(self, text: str, step: int, *, typing: bool = False) -> bool:  # noqa: ARG002
        return False

    # -- the keys -----------------------------------------------------------------------------------------

    def action_rungs(self, step: int) -> None:
        self._wish(rungs=min(max(self.wish.rungs + step, 1), _MOST_RUNGS))

    def action_align(self, step: int) -> None:
        align = self.wish.align * 2 if step > 0 else self.wish.align // 2
        self._wish(align=min(max(align, 1), _LARGEST_ALIGN))

    def action_kinds(self) -> None:
        self._wish(kinds=_KINDS[(_KINDS.index(self.wish.kinds) + 1) % len(_KINDS)])

    def action_function(self, step: int) -> None:
        report = self.explorer.report
        if report is not None and report.ladders:
            self._wish(function=(self.wish.function + step) % len(report.ladders))

    def _wish(self, **changed: Any) -> None:
        wish = replace(self.wish, **changed)
        if wish != self.wish:
            self.wish = wish
            self._plan()

    def _plan(self) -> None:
        report = self.explorer.report
        if report is not None and report.ladders:
            self._planning = True
            self.update_status()
            work = partial(plan, report, self.wish, self.post_message)
            self.run_worker(work, thread=True, exclusive=True, group="plan")

    @on(Planned)
    def _planned(self, event: Planned) -> None:
        if event.wish != self.wish:
            return
        self._planning = False
        if event.ladder is not None:
            self._draw(event.ladder)
        else:
            self.say(event.problem.splitlines()[0])
        self.update_status()

    def _draw(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self.query_one("#picture", Flow).show(partial(picture, ladder))

    def action_scroll_up(self) -> None:
        self._scroll(-1)

    def action_scroll_down(self) -> None:
        self._scroll(1)

    def _scroll(self, lines: int) -> None:
        self.query_one("#ladder", VerticalScroll).scroll_relative(y=lines, animate=False)
