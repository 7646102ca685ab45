"""The terminal summary: what is wrong and what to look at first, on one screen."""

from __future__ import annotations

from compilescope.views.text._summary import render

__all__ = ["render"]
