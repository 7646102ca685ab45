"""Two recordings side by side: what is new, gone or changed, and which component of a cache key moved."""

from __future__ import annotations

__all__: list[str] = []
