"""Files we were asked to write: never over another without ``-f``, and never half of one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compilescope.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

STDOUT = Path("-")


def write_new(path: Path, produce: Callable[[Path], None], *, force: bool) -> None:
    """``produce`` fills a file beside ``path``, which then takes its place. Raises OutputError."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder", hint="name a file with -o")
    if not force and os.path.lexists(path):
        raise OutputError(f"{path} exists", hint="give another name with -o, or -f to replace it")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        produce(beside)
        beside.replace(path)
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror or problem}") from problem
    finally:
        beside.unlink(missing_ok=True)
