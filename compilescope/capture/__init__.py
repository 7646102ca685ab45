"""Capture: raw facts about torch.compile, taken inside the user's process and written at once.

``attach`` and ``detach`` never raise for what goes wrong with recording; the program goes on without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from compilescope.capture._capture import Capture

__all__ = ["attach", "detach", "is_attached", "note", "probe", "snapshot"]

_attached: Capture | None = None


def attach(folder: Path, *, even_idle: bool = False) -> None:
    """Record this process into ``folder`` from now on. A second call is ignored: one process, one capture.

    A process in which nothing compiles leaves no recording, unless it is the program that
    ``compilescope run`` started, or ``even_idle`` asks for one.
    """
    global _attached
    if _attached is not None:
        return
    try:
        capture = Capture(Path(folder), _complain)
        capture.attach(even_idle=even_idle)
        _attached = capture
    except Exception as error:
        _complain(f"capture could not start: {type(error).__name__}: {error}")


def detach() -> None:
    """Write the last counts, close the recording, restore what was patched."""
    global _attached
    if _attached is not None:
        capture, _attached = _attached, None
        capture.detach()


def is_attached() -> bool:
    return _attached is not None


def snapshot() -> None:
    """Write the run-time counts now."""
    if _attached is not None:
        _attached.snapshot()


def note(kind: str, fields: Mapping[str, object]) -> None:
    """Write one record of the program's own, such as a training step. Does nothing where nothing records."""
    if _attached is not None:
        _attached.session.safely(_attached.writer.record, kind, {"m": dict(fields)})


def probe() -> dict[str, str]:
    """Which hooks this torch has, without recording anything: name -> "ok" or "missing: why"."""
    return Capture(Path(os.devnull), lambda _: None).probe()


def _complain(message: str) -> None:
    try:
        print(f"compilescope: {message}; the program goes on unrecorded", file=sys.stderr)
    except (OSError, ValueError):
        pass
