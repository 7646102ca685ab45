"""Chrome trace events: compile phases beside a torch profiler's trace."""

from __future__ import annotations

from compilescope.views.perfetto._render import merged, render

__all__ = ["merged", "render"]
