"""The terminal summary: what is wrong and what to look at first, on one screen."""

from __future__ import annotations

from compilescope.views.text._details import Wanted, render_details
from compilescope.views.text._summary import render

__all__ = ["Wanted", "render", "render_details"]
