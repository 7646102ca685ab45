"""Wires the terminal explorer to a recording; where there is no terminal, prints the summary."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from compilescope.cli._output import write_new
from compilescope.cli._recorded_code import RecordedCode
from compilescope.cli._recordings import load_report
from compilescope.cli._terminal import default_width, is_utf8, say, write
from compilescope.cli.report import report_stem

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui import Opened

_PACK = "payloads.pack"


def explore_or_print(path: Path, *, follow: bool) -> None:
    """The explorer on a terminal, the summary anywhere else. Raises RecordingError."""
    if not _is_terminal():
        from compilescope.views import text

        say("not a terminal: this is the summary")
        write(text.render(load_report(path), width=default_width(), ascii=not is_utf8(sys.stdout)))
        return
    from compilescope.recording import open_recording
    from compilescope.views.tui import explore

    if not follow:
        open_recording(path)  # what cannot be read at all is said before the screen is taken
    explore(RecordingSource(path), follow=follow)


def _is_terminal() -> bool:
    # Textual draws on stderr and reads stdin.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM") != "dumb" and all(
        stream is not None and stream.isatty() for stream in streams
    )


class RecordingSource:
    """A ``ReportSource`` on whatever ``open_recording`` opens."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sources: dict[str, str] = {}

    @property
    def name(self) -> str:
        return str(self._path)

    def stamp(self) -> Hashable:
        """Sizes and times of the files: they say all, since a recording only grows or is replaced."""
        return tuple(sorted(_files(self._path)))

    def load(self) -> Opened:
        from compilescope.advice import examine
        from compilescope.advice.details import sources_of
        from compilescope.model import load
        from compilescope.recording import open_recording
        from compilescope.views.tui import Opened

        recording = open_recording(self._path)
        run = load(recording)
        report, _ = examine(run)
        self._sources = sources_of(run)
        return Opened(report, RecordedCode(recording))

    def export(self, report: Report) -> Path:
        from compilescope.views import html

        path = Path(f"compilescope-report-{report_stem(self._path)}.html")
        page = html.render(report, sources=self._sources).encode("utf-8", "backslashreplace")
        write_new(path, partial(_save, page), force=False)
        return path


def _save(page: bytes, file: Path) -> None:
    file.write_bytes(page)


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
