"""What every part of the report may say of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that could not be captured, and why."""

    fact: str
    reason: str
