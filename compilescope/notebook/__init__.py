"""Profiling a block of code in the running process: ``with compilescope.profile("REC") as p:``."""

from __future__ import annotations

from compilescope.notebook._profile import profile

__all__ = ["profile"]
