"""The RECORDING argument: which one when none is named, and its completion in the shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from compilescope.cli._terminal import say
from compilescope.errors import RecordingNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from compilescope.analysis.report import Report
    from compilescope.model.documents import Document
    from compilescope.recording import Recording

PATTERNS = ("*.compilescope", "*.compilescope.zip")


def recording_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """``[RECORDING]`` as a Path; the newest one of the working directory when it is left out."""
    argument = click.argument(
        "recording",
        required=False,
        type=click.Path(path_type=Path),
        callback=lambda _ctx, _param, value: newest(Path()) if value is None else value,
        shell_complete=_complete,
    )
    return argument(function)


def newest(directory: Path) -> Path:
    """The recording that was started or changed last. Raises RecordingNotFound."""
    chosen = _newest(directory)
    if chosen is None:
        raise RecordingNotFound(
            "no recording in this folder (*.compilescope)",
            hint="name one, or make one: compilescope run SCRIPT",
        )
    say(f"reading the newest recording here, {chosen}")
    return chosen


def needs_a_name(recording: Path) -> bool:
    """Whether a command without a RECORDING would read another one here."""
    chosen = _newest(Path())
    return chosen is None or chosen.absolute() != recording.absolute()


def _newest(directory: Path) -> Path | None:
    found = [p for pattern in PATTERNS for p in directory.glob(pattern) if not _is_copy(p)]
    return max(found, key=_changed_ns, default=None)


def _is_copy(path: Path) -> bool:
    """A packed recording beside the folder it was made of."""
    return path.suffix == ".zip" and path.with_suffix("").is_dir()


def _changed_ns(path: Path) -> int:
    """A folder's own time only moves when entries come and go; ``run.json`` is replaced at the end."""
    times = [p.stat().st_mtime_ns for p in (path, path / "run.json") if p.exists()]
    return max(times, default=0)


def load_report(recording: Path, *, detail: bool = True) -> Report:
    """Raises RecordingError when it cannot be read at all.

    Without ``detail`` the texts below Dynamo stay unread: enough for one screen, in half the time.
    """
    return load_with_sources(recording, detail=detail)[0]


def load_with_sources(recording: Path, *, detail: bool = True) -> tuple[Report, dict[str, str]]:
    """Also the recorded source texts, by the names that the report gives their files."""
    return _examined(_opened(recording), detail=detail)


class Loaded(NamedTuple):
    """All that a web page shows. ``documents`` are the long texts of each compile, not read yet."""

    report: Report
    sources: dict[str, str]
    documents: list[Document]


def load_with_texts(recording: Path) -> Loaded:
    from compilescope.model.documents import documents_of

    opened = _opened(recording)
    return Loaded(*_examined(opened, detail=True), documents_of(opened))


def _opened(recording: Path) -> Recording:
    from compilescope.recording import open_recording

    return open_recording(recording)


def _examined(recording: Recording, *, detail: bool) -> tuple[Report, dict[str, str]]:
    from dataclasses import replace

    from compilescope.advice import examine, worst_from_findings
    from compilescope.advice.details import sources_of
    from compilescope.analysis.missing import NOT_ASKED
    from compilescope.model import load
    from compilescope.recording.process import gc_paused

    with gc_paused():
        run = load(recording, detail=detail)
        report, found = examine(run)
        # One screen shows none of these facts: that they were left unread is not news to its reader.
        absent = report.missing if detail else [m for m in report.missing if m.reason != NOT_ASKED]
        return replace(report, worst=worst_from_findings(found), missing=absent), sources_of(run)


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    typed = Path(incomplete)
    directory = typed if incomplete.endswith("/") else typed.parent
    if not directory.is_dir():
        return []
    paths = [str(p) for pattern in PATTERNS for p in directory.glob(pattern)]
    return sorted(p for p in paths if p.startswith(incomplete))
