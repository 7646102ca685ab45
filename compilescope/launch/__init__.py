"""Starts the user's program as ``compilescope run`` does, and hands back how it ended. Standard library only.

The parent side is here: it makes the recording's folder, starts the interpreter, forwards signals, waits.
The child side (``_bootstrap/``, ``_child.py``, ``_isolation.py``) runs inside the user's process.
"""

from __future__ import annotations

from compilescope.launch.process import Ended
from compilescope.launch.program import Outcome, run_program
from compilescope.launch.target import Target

__all__ = ["Ended", "Outcome", "Target", "run_program"]
