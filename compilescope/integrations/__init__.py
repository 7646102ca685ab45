"""One file for each library that CompileScope hooks into; each needs that library and nothing else does."""

from __future__ import annotations

__all__: list[str] = []
