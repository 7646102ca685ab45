"""What the program printed, when its output goes to a file beside the recording."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.message import Message

from compilescope.views.tui._code_view import CodeView
from compilescope.views.tui._keys import PAGE, Key
from compilescope.views.tui._screen import PageScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from compilescope.analysis.report import Report
    from compilescope.views.tui._pages import Page

EVERY_S = 0.5
_NONE = (
    "The output of the program was not kept: it went to its own terminal.\n\n"
    "compilescope run --live keeps it, because the explorer has the terminal."
)


class OutputRead(Message):
    def __init__(self, text: str | None) -> None:
        super().__init__()
        self.text = text


def _read(read: Callable[[], str | None], post: Any) -> None:
    post(OutputRead(read()))


class OutputScreen(PageScreen):
    """The end of the file, kept in view as long as the end is what is looked at."""

    KEYS: ClassVar[tuple[Key, ...]] = PAGE

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._text: str | None = None

    def body(self) -> ComposeResult:
        yield CodeView(id="text")

    def on_mount(self) -> None:
        self.set_interval(EVERY_S, self._look)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._look()

    def update(self) -> None:
        """The program may print before anything of it can be read."""
        self.notice(_NONE if self.explorer.output is None else None)
        self.update_lines()

    def show(self, report: Report) -> str | None:  # noqa: ARG002
        return None if self.explorer.output is not None else _NONE

    def focus_body(self) -> None:
        self.query_one(CodeView).focus()

    def status(self) -> str:
        found = f" · search: {self.searched} (n, N)" if self.searched else ""
        return f"{len(self.query_one(CodeView).lines):,} lines{found}"

    def search(self, text: str, step: int, *, typing: bool = False) -> bool:
        view = self.query_one(CodeView)
        if typing:
            view.match = None
        return view.find(text, step)

    def _look(self) -> None:
        if self.explorer.output is not None and self.is_current:
            read = partial(_read, self.explorer.output, self.post_message)
            self.run_worker(read, thread=True, exclusive=True, group="output")

    @on(OutputRead)
    def _came(self, event: OutputRead) -> None:
        if event.text == self._text:
            return
        self._text = event.text
        view = self.query_one(CodeView)
        at_end = view.scroll_offset.y >= view.max_scroll_y
        view.extend((event.text or "").splitlines() or ["Nothing was printed yet."])
        if at_end:
            view.cursor = len(view.lines)
            view.call_after_refresh(view.scroll_end, animate=False)
        if self.focused is None:
            self.focus_body()
        self.update_status()
