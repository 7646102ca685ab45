"""Wires the terminal explorer to a recording; where there is no terminal, prints the summary."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from compilescope.cli._output import write_new
from compilescope.cli._recorded_code import RecordedCode
from compilescope.cli._recordings import load_report, needs_a_name
from compilescope.cli._terminal import default_width, is_utf8, say, write
from compilescope.cli.report import report_stem
from compilescope.errors import CompileScopeError
from compilescope.units import count

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.compare import Diff, Recorded
    from compilescope.views.tui import Opened

OUTPUT_LOG = "output.log"  # in a recording: what the program printed under ``run --live``
_PACK, _EVENTS = "payloads.pack", "events.jsonl"
_LARGE_BYTES = 30_000_000
_CHUNK_BYTES = 8 << 20
_GLANCED = {
    "compiles": b'"k":"dynamo_start"',
    "graphs": b'"k":"dynamo_output_graph"',
    "attempts that broke the graph": b'"name":"dynamo_graph_break_reason"',
}
_END_BYTES = 256 * 1024
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def explore_or_print(
    path: Path,
    *,
    follow: bool,
    base: Path | None = None,
    interrupt: Callable[[], str] | None = None,
) -> None:
    """The explorer on a terminal, the summary anywhere else. Raises RecordingError.

    ``base`` is a second recording to compare with; ``interrupt`` what ctrl-c does, and says it did.
    """
    if not is_terminal():
        from compilescope.views import text

        say("not a terminal: this is the summary")
        ascii_only, named = not is_utf8(sys.stdout), needs_a_name(path)
        write(text.render(load_report(path), width=default_width(), ascii=ascii_only, named=named))
        return
    from compilescope.recording import open_recording
    from compilescope.views.tui import explore

    for asked in (path,) if not follow else ():
        open_recording(asked)  # what cannot be read at all is said before the screen is taken
    if base is not None:
        open_recording(base)
    explore(RecordingSource(path, base), follow=follow, interrupt=interrupt)


def is_terminal() -> bool:
    """Whether a person looks at all three streams."""
    # Textual draws on stderr and reads stdin.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM") != "dumb" and all(
        stream is not None and stream.isatty() for stream in streams
    )


class RecordingSource:
    """A ``ReportSource`` on whatever ``open_recording`` opens."""

    def __init__(self, path: Path, base: Path | None = None) -> None:
        self._path = path
        self._base = base
        self._recorded: tuple[Path, Recorded] | None = None
        self._sources: dict[str, str] = {}

    @property
    def name(self) -> str:
        return str(self._path)

    def stamp(self) -> Hashable:
        """Sizes and times of the files: they say all, since a recording only grows or is replaced."""
        return tuple(sorted(_files(self._path)))

    def glance(self) -> str:
        """By counting marks in the files: a record starts with its kind, and no text can hold such bytes."""
        sizes = list(_event_files(self._path))
        total = sum(size for _, size in sizes)
        if total < _LARGE_BYTES:
            return ""
        counted = dict.fromkeys(_GLANCED, 0)
        for file, _ in sizes:
            with file.open("rb") as lines:
                while chunk := lines.read(_CHUNK_BYTES):
                    chunk += lines.readline()
                    for word, mark in _GLANCED.items():
                        counted[word] += chunk.count(mark)
        found = ", ".join(f"{n:,} {word}" for word, n in counted.items() if n)
        owners = count(len(sizes), "process", "processes")
        return (
            f"Reading {self.name}: {total / 1e6:,.0f} MB of records of {owners}.\n\n"
            f"So far it is known that there were {found or 'no compiles'}. The screens fill in a few seconds."
        )

    def quick(self) -> Opened | None:
        if sum(size for _, size in _event_files(self._path)) < _LARGE_BYTES:
            return None
        from compilescope.advice import examine
        from compilescope.model import load
        from compilescope.recording import open_recording
        from compilescope.recording.process import gc_paused
        from compilescope.views.tui import Opened

        recording = open_recording(self._path)
        with gc_paused():
            report, _ = examine(load(recording, detail=False))
        return Opened(report, RecordedCode(recording))

    def load(self) -> Opened:
        from compilescope.recording.process import gc_paused

        with gc_paused():
            return self._load()

    def _load(self) -> Opened:
        from compilescope.advice import examine
        from compilescope.advice.details import sources_of
        from compilescope.model import load
        from compilescope.recording import open_recording
        from compilescope.views.tui import Opened

        recording = open_recording(self._path)
        run = load(recording)
        if self._base is None:
            report, _ = examine(run)
            self._sources = sources_of(run)
            return Opened(report, RecordedCode(recording).prepared())
        from compilescope.compare import recorded

        head = recorded(run)
        self._sources = dict(head.sources)
        return Opened(head.report, RecordedCode(recording).prepared(), *self._diff(head))

    def _diff(self, head: Recorded) -> tuple[Diff | None, str]:
        """The difference, or why there is none. The other recording is read once."""
        from compilescope.compare import compare, recorded
        from compilescope.model import load
        from compilescope.recording import open_recording

        base = self._base
        assert base is not None
        try:
            if self._recorded is None or self._recorded[0] != base:
                self._recorded = (base, recorded(load(open_recording(base))))
        except (CompileScopeError, OSError) as problem:
            return None, f"{base} cannot be compared with: {problem}"
        return compare(self._recorded[1], head), ""

    def compare_with(self, base: str) -> None:
        self._base = Path(base).expanduser()

    def output(self) -> Callable[[], str | None] | None:
        log = self._path / OUTPUT_LOG
        return partial(_end_of, log) if log.is_file() else None

    def export(self, report: Report) -> Path:
        from compilescope.model.documents import documents_of
        from compilescope.recording import open_recording
        from compilescope.views import html

        path = Path(f"compilescope-report-{report_stem(self._path)}.html")
        documents = documents_of(open_recording(self._path))
        page = html.render(report, sources=self._sources, documents=documents)
        write_new(path, partial(_save, page.encode("utf-8", "backslashreplace")), force=False)
        return path


def _save(page: bytes, file: Path) -> None:
    file.write_bytes(page)


def _event_files(path: Path) -> Iterator[tuple[Path, int]]:
    """Of a recording's folder, or one process's. Nothing of what is packed or a log."""
    folders = (path, *(entry for entry in path.iterdir() if entry.is_dir())) if path.is_dir() else ()
    for folder in folders:
        file = folder / _EVENTS
        if file.is_file():
            yield file, file.stat().st_size


def _end_of(log: Path) -> str | None:
    """Whole lines at its end; the colors a program prints for a terminal are left out."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _END_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    lines = text.split("\n")[1 if size > _END_BYTES else 0 :]
    # A progress bar writes its line again and again: what stands in the end is what counts.
    return "\n".join(_ESCAPES.sub("", line.rstrip("\r").rpartition("\r")[2]) for line in lines)


def _files(path: Path) -> Iterator[tuple[str, int, int]]:
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        yield path.name, status.st_size, status.st_mtime_ns
        return
    for folder in (path, *(entry for entry in path.iterdir() if entry.is_dir())):
        with os.scandir(folder) as entries:
            for entry in entries:
                # A payload is followed by the record that names it.
                if entry.name != _PACK and entry.is_file():
                    found = entry.stat()
                    yield f"{folder.name}/{entry.name}", found.st_size, found.st_mtime_ns
