"""What a person or a tool sees. Each view gets the finished report object and draws it; none sees another."""

from __future__ import annotations

__all__: list[str] = []
