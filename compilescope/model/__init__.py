"""Frozen values of one run, and the only reader of recordings in the analysis half of the house."""

from __future__ import annotations

from compilescope.model.build import load
from compilescope.model.values import (
    BreakEvent,
    CacheEvent,
    Compile,
    CompileId,
    CompileTarget,
    Conversion,
    Graph,
    Guard,
    GuardFailure,
    Hole,
    Limit,
    Location,
    LogLine,
    Placeholder,
    Process,
    Run,
    Specialized,
)

__all__ = [
    "BreakEvent",
    "CacheEvent",
    "Compile",
    "CompileId",
    "CompileTarget",
    "Conversion",
    "Graph",
    "Guard",
    "GuardFailure",
    "Hole",
    "Limit",
    "Location",
    "LogLine",
    "Placeholder",
    "Process",
    "Run",
    "Specialized",
    "load",
]
