"""What all screens share: the lines around the body, the prompt, copying, the editor."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from textual import events, on
from textual.app import ComposeResult, SuspendNotSupported
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Input, Static

from compilescope.views.tui import _draw
from compilescope.views.tui._card import Card, markdown
from compilescope.views.tui._editor import editor, editor_command
from compilescope.views.tui._help import Sheet, help_text
from compilescope.views.tui._keys import EXPLORER, PAGE, Key, bindings
from compilescope.views.tui._pages import PAGES, Page
from compilescope.views.tui._table import Column
from compilescope.views.tui._words import one_line

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._app import Explorer
    from compilescope.views.tui._source import Opened

SMALLEST = (60, 16)
_SAID_S = 4.0


class PageScreen(Screen[None]):
    """Only screens change widgets: the app tells them that the report is another one."""

    BINDINGS: ClassVar = bindings(PAGE)
    KEYS: ClassVar[tuple[Key, ...]] = PAGE
    AUTO_FOCUS = None

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.asked: Literal["search", "filter", "compare"] = "search"
        self.searched = ""
        self._said = ""
        self._shown: Opened | None = None

    @property
    def explorer(self) -> Explorer:
        return cast("Explorer", self.app)

    def compose(self) -> ComposeResult:
        yield Static(id="too-small")
        with Container(id="page"):
            yield Static(id="nav")
            yield Static(self.page.question, id="question", markup=False)
            yield Static(id="notice", markup=False)
            with Container(id="body"):
                yield from self.body()
            prompt = Input(id="prompt", select_on_focus=False)
            prompt.cursor_blink = False  # a blink is output twice a second, over ssh too
            yield prompt
            yield Static(id="status")
            yield Static(id="keys")

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def show(self, report: Report) -> str | None:
        """Draws a new report; gives the reason when there is nothing to draw."""
        raise NotImplementedError

    def subject(self) -> Card | None:
        """What copy, editor and open act on."""
        return None

    def status(self) -> str:
        """The left half of the status line."""
        return ""

    def search(self, text: str, step: int, *, typing: bool = False) -> bool:
        """Goes to the next match. ``typing``: from where the cursor is."""
        raise NotImplementedError

    def filter(self, text: str) -> None:
        """Keeps only what has ``text``."""

    def columns(self) -> Sequence[Column[Any]]:
        """What the help explains."""
        return ()

    # -- drawing ------------------------------------------------------------------------------------------

    def on_screen_resume(self) -> None:
        self.update()

    def on_resize(self, event: events.Resize) -> None:
        width, height = SMALLEST
        text = f"The terminal is {event.size.width}x{event.size.height}: CompileScope needs {width}x{height}."
        self.query_one("#too-small", Static).update(text)
        self.update_lines()

    def update(self) -> None:
        """After the report changed, or this screen came to the front."""
        opened = self.explorer.opened
        if opened is None:
            self.notice(self.explorer.waiting)
        elif opened is not self._shown:
            self._shown = opened
            self.notice(self.show(opened.report))
        self.update_lines()

    def notice(self, text: str | None) -> None:
        """Text in place of the body; None shows the body."""
        self.set_class(text is not None, "-noticing")
        if text is not None:
            self.query_one("#notice", Static).update(_draw.plain(text))

    def update_lines(self) -> None:
        """Navigation, status and keys."""
        width = self.size.width
        pages = [page for page in PAGES if self.explorer.is_named(page) or page is self.page]
        nav = _draw.navigation(pages, self.page.name, self.explorer.report, width)
        self.query_one("#nav", Static).update(nav, layout=False)
        self.update_status()
        keys = (*self.KEYS, *EXPLORER)
        self.query_one("#keys", Static).update(_draw.key_bar(keys, width), layout=False)

    def update_status(self) -> None:
        line = _draw.ends(self.status(), self._said or self.explorer.state(), self.size.width - 2)
        self.query_one("#status", Static).update(line, layout=False)

    # -- the prompt ---------------------------------------------------------------------------------------

    def ask(self, what: Literal["search", "filter", "compare"], text: str) -> None:
        self.asked = what
        prompt = self.query_one("#prompt", Input)
        wanted = "compare with the recording" if what == "compare" else what
        prompt.placeholder = f"{wanted}: type, then enter; esc leaves"
        prompt.value = text
        prompt.add_class("-asking")
        prompt.focus()

    def action_search(self) -> None:
        self.ask("search", "")

    def action_escape(self) -> None:
        if self.query_one("#prompt").has_class("-asking"):
            self.leave_prompt()
        else:
            self.searched = ""
            self.filter("")
        self.update_status()

    def leave_prompt(self) -> None:
        self.query_one("#prompt").remove_class("-asking")
        self.focus_body()

    def focus_body(self) -> None:
        """Puts the keys where the rows are."""

    @on(Input.Changed, "#prompt")
    def _typed(self, event: Input.Changed) -> None:
        if not self.query_one("#prompt").has_class("-asking"):
            return
        if self.asked == "filter":
            self.filter(event.value)
        elif self.asked == "search":
            self.searched = event.value
            if event.value:
                self.search(event.value, 1, typing=True)
        self.update_status()

    @on(Input.Submitted, "#prompt")
    def _submitted(self, event: Input.Submitted) -> None:
        self.leave_prompt()
        if self.asked == "compare" and event.value.strip():
            self.explorer.compare_with(event.value.strip())
        self.update_status()

    def action_next_match(self, step: int) -> None:
        if self.searched and not self.search(self.searched, step):
            self.say(f"nothing here has {self.searched!r}")

    # -- what can be done with a row ----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """On the status line for a moment: a toast would cover rows."""
        self._said = one_line(text, 300)
        self.update_status()
        self.set_timer(_SAID_S, self._forget)

    def _forget(self) -> None:
        self._said = ""
        self.update_status()

    def action_copy(self) -> None:
        subject = self.subject()
        if subject is None:
            return
        text = markdown(subject)
        self.app.copy_to_clipboard(text)
        self.say(f"sent {len(text.splitlines())} lines to the terminal's clipboard; Y shows them")

    def action_show_copy(self) -> None:
        subject = self.subject()
        if subject is not None:
            self.app.push_screen(Sheet("As Markdown (esc closes)", _draw.plain(markdown(subject))))

    def action_help(self) -> None:
        own: tuple[Key, ...] = getattr(self.focused, "KEYS", ())
        others = tuple(key for key in self.KEYS if key not in own)
        groups = [("in this pane", own), ("on this screen", others), ("everywhere", EXPLORER)]
        text = help_text(self.page.question, self.columns(), groups)
        self.app.push_screen(Sheet("Help (esc closes)", text))

    def action_edit(self) -> None:
        subject = self.subject()
        if subject is None or subject.file is None:
            self.say("this row names no file")
            return
        command = self._command(subject)
        if command is None:
            return
        try:
            with self.app.suspend():
                subprocess.run(command, check=False)
        except (OSError, SuspendNotSupported) as problem:
            self.say(f"cannot start {command[0]}: {problem}")
        self.refresh()

    def _command(self, subject: Card) -> list[str] | None:
        """The editor's command line; None, and why, when it cannot be."""
        chosen = editor(os.environ)
        opened = self.explorer.opened
        path = opened.code.locate(subject.file or "", subject.process) if opened else None
        if path is None:
            self.say(f"{subject.place} is not on this machine")
        elif chosen is None:
            self.say("set $EDITOR to open files here")
        else:
            try:
                return editor_command(chosen, path, subject.line)
            except ValueError as problem:
                self.say(f"$EDITOR: {problem}")
        return None
