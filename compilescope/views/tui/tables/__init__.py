"""One module per screen: columns, the card of a row, and what to say when there is none."""

from __future__ import annotations

__all__: list[str] = []
