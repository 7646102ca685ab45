"""Profiling a block of code in the running process: ``with compilescope.profile("REC") as p:``."""

from __future__ import annotations

from typing import Any

from compilescope.notebook._profile import profile

__all__ = ["load_ipython_extension", "profile"]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext compilescope``: registers the cell magic ``%%compilescope``."""
    from compilescope.notebook import _magic

    _magic.register(shell)
