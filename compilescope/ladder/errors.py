"""The one error of this room."""

from __future__ import annotations

from compilescope.errors import UsageError


class LadderError(UsageError, ValueError):
    """A ladder that cannot be meant: a rung twice, a rung no size can reach, ranges that overlap."""

    slug = "ladder"
