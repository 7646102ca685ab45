"""The arguments BASE and HEAD, and what is compared of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compilescope.cli._recordings import _complete

if TYPE_CHECKING:
    from collections.abc import Callable

    from compilescope.compare import Diff, TimeLimits


def base_and_head(function: Callable[..., Any]) -> Callable[..., Any]:
    """``BASE HEAD`` as paths."""
    for name in ("head", "base"):
        path = click.Path(path_type=Path)
        function = click.argument(name, type=path, shell_complete=_complete)(function)
    return function


def compared(base: Path, head: Path, limits: TimeLimits | None = None) -> Diff:
    """Raises RecordingError when one of them cannot be read at all."""
    from compilescope.compare import compare, recorded
    from compilescope.model import load
    from compilescope.recording import open_recording
    from compilescope.recording.process import gc_paused

    with gc_paused():
        first, second = (recorded(load(open_recording(path))) for path in (base, head))
        return compare(first, second, limits)
