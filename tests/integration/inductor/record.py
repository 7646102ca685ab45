"""``python record.py FOLDER SCRIPT``: run a script in this process with capture attached."""

from __future__ import annotations

import functools
import runpy
import sys
from pathlib import Path
from typing import Any

from compilescope.capture._capture import Capture
from compilescope.capture._imports import after_import
from compilescope.capture._inductor_hooks import InductorHooks


def attached(folder: Path) -> Capture:
    """A capture with the hooks below Dynamo, whether or not it brings them itself."""
    capture = Capture(folder, lambda why: print(why, file=sys.stderr))
    capture.attach()
    if not hasattr(capture, "inductor"):
        hooks = InductorHooks(capture.session, capture._stacks)
        capture.inductor = hooks  # type: ignore[attr-defined]
        for module, name, install in hooks.waiting():
            capture._call_off.append(
                after_import(module, functools.partial(_install, capture, name, install))
            )
        capture._call_off.append(hooks.remove)
    return capture


def _install(capture: Capture, name: str, install: Any) -> None:
    capture._install(name, install)
    capture.session.safely(capture._write_hooks)


if __name__ == "__main__":
    capture = attached(Path(sys.argv[1]))
    sys.argv = sys.argv[2:]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        capture.detach()
