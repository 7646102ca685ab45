"""Chrome trace events: compile phases beside a torch profiler's trace."""

from __future__ import annotations

__all__: list[str] = []
