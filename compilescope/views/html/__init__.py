"""The HTML report: one self-contained file that opens offline and can be attached to a pull request."""

from __future__ import annotations

from compilescope.views.html._render import render

__all__ = ["render"]
