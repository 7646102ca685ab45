"""Lets the tests of this folder import the builders next to ``unit/`` and the runs of ``unit/compare``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "compare"))
sys.path.insert(0, str(Path(__file__).parent))
