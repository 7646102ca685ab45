"""The machine contract: the report object as JSON, and its JSON Schema."""

from __future__ import annotations

from compilescope.views.json._render import render
from compilescope.views.json._schema import schema

__all__ = ["render", "schema"]
