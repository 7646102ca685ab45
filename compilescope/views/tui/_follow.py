"""Reads the report in a thread of its own, once or each time the recording has grown."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.message import Message

from compilescope.errors import CompileScopeError

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._source import Opened, ReportSource

EVERY_S = 0.3
_SILENT_S = 30  # calls of compiled code are counted every 2 s
_SHARE = 4  # of the time at most a fourth is spent reading


class ReportRead(Message):
    def __init__(self, opened: Opened) -> None:
        super().__init__()
        self.opened = opened


class Glanced(Message):
    """What is shown until the recording was read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReadFailed(Message):
    """Nothing could be read (yet). ``text`` is one plain sentence about ``problem``."""

    def __init__(self, text: str, problem: Exception) -> None:
        super().__init__()
        self.text = text
        self.problem = problem


class Exported(Message):
    """``text`` says where the web page is, or why there is none."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def export(source: ReportSource, report: Report, post: Callable[[Message], object]) -> None:
    """In a worker thread."""
    try:
        post(Exported(f"wrote {source.export(report)}"))
    except (CompileScopeError, OSError) as problem:
        post(Exported(f"no web page: {problem}"))


class Follower(threading.Thread):
    """Posts ReportRead and ReadFailed, touches no widget. A daemon: quitting does not wait for a read."""

    def __init__(self, source: ReportSource, post: Callable[[Message], object], *, follow: bool) -> None:
        super().__init__(name="compilescope-follow", daemon=True)
        self._source = source
        self._post = post
        self._follow = follow
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._seen: Hashable = None
        self._told = ""
        self._has_read = False

    def run(self) -> None:
        while not self._stopped.is_set():
            began_s = time.monotonic()
            try:
                self._look()
            except RuntimeError:  # the event loop is closed: the user has quit while we were reading
                return
            spent_s = time.monotonic() - began_s
            timeout_s = max(EVERY_S, spent_s * (_SHARE - 1)) if self._follow else None
            self._wake.wait(timeout_s)
            self._wake.clear()

    def read_again(self) -> None:
        """Soon, whether the recording has changed or not."""
        self._seen = None
        self._wake.set()

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()

    def _look(self) -> None:
        name = self._source.name
        try:
            # The stamp first: what is written during the read is seen as a change by the next look.
            stamp = self._source.stamp()
            if stamp == self._seen:
                return
            if not self._has_read:
                self._begin()
            opened = self._source.load()
        except CompileScopeError as problem:
            self._fail(problem.message, problem)
        except OSError as problem:
            self._fail(f"{name} cannot be read: {problem.strerror or problem}", problem)
        except Exception as problem:  # a view may not die of a recording that is half written
            self._fail(f"{name} cannot be read: {type(problem).__name__}: {problem}", problem)
        else:
            self._seen, self._told, self._has_read = stamp, "", True
            # A report is a hundred thousand objects without cycles: visiting them all would stop the keys
            # for a tenth of a second each time. Counting references still frees them.
            gc.freeze()
            self._post(ReportRead(opened))

    def _begin(self) -> None:
        """Of a large recording, what is there at once, and then what is there soon."""
        text = self._source.glance()
        if text:
            self._post(Glanced(text))
        soon = self._source.quick()
        if soon is not None:
            self._has_read = True
            gc.freeze()
            self._post(ReportRead(soon))

    def _fail(self, text: str, problem: Exception) -> None:
        self._seen = None
        if text != self._told:
            self._told = text
            self._post(ReadFailed(text, problem))


def state(report: Report, now_s: float, started_s: float | None, silent_s: float = 0) -> str:
    """Whether the program still compiles, in a few words. Times are seconds of the wall clock.

    ``silent_s``: how long nothing has been written. A program that was killed leaves no other sign.
    """
    recording = report.recording
    if recording.complete or recording.exit_status is not None:
        return recording.ended or "ended"
    if silent_s >= _SILENT_S:
        return f"nothing written for {silent_s:.0f} s: idle, or dead"
    if report.totals.compiles == 0:
        return "running, nothing compiled yet"
    last_s = report.verdict.last_compile_s
    if last_s is None or started_s is None:
        return "running"
    quiet_s = max(now_s - started_s - last_s, 0.0)
    return "running, compiling" if quiet_s < 3 else f"running, stopped compiling {quiet_s:.0f} s ago"


def seconds_of(iso: str | None) -> float | None:
    try:
        return datetime.fromisoformat(iso).timestamp() if iso else None
    except ValueError:
        return None
