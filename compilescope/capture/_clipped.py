"""A text that is cut for length says how much of it is not in the recording."""

from __future__ import annotations


def clipped(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and how many more there are."""
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}... ({left:,} more characters)"
