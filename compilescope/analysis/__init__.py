"""From values to tables and numbers: the one report object every view draws."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.analysis.build import build_report
    from compilescope.analysis.report import Report

__all__ = ["Report", "build_report"]

_HOMES = {"Report": "report", "build_report": "build"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
