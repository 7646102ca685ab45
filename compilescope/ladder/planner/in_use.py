"""The ladder a program uses now, as a person types it."""

from __future__ import annotations

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.traffic import LARGEST_SIZE


def ladder_from_text(text: str, *, pins: bool = False) -> BucketLadder:
    """``16,32,64`` as pads, or as pins. Raises PlanError for other text, LadderError for a size twice."""
    sizes = [part.strip() for part in text.split(",")]
    if not all(size.isascii() and size.isdigit() and len(size) <= len(str(LARGEST_SIZE)) for size in sizes):
        raise PlanError("the ladder in use must be a list of sizes", hint="write it as 16,32,64")
    return (BucketLadder.pins if pins else BucketLadder.pads)(int(size) for size in sizes)
