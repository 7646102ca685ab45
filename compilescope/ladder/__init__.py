"""Shape ladders: which sizes get a static artifact, which share a dynamic one, which are padded up to.

Pure values: no torch here, so that a ladder can be planned, printed and compared anywhere.
"""

from __future__ import annotations

from compilescope.ladder.errors import LadderError
from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.product import JointRung, LadderProduct
from compilescope.ladder.rungs import Pad, Pin, Range, Rung

__all__ = ["BucketLadder", "JointRung", "LadderError", "LadderProduct", "Pad", "Pin", "Range", "Rung"]
