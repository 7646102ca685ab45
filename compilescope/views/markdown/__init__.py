"""Markdown for a pull request: verdict first, under the size a comment may have."""

from __future__ import annotations

__all__: list[str] = []
