"""A diff as JSON, and its JSON Schema. ``python -m compilescope.views.json.diff`` prints the schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from compilescope.views.json._diff_words import DESCRIPTIONS, VOCABULARY
from compilescope.views.json._render import _plain
from compilescope.views.json._schema import _DIALECT, _define

if TYPE_CHECKING:
    from compilescope.compare.diff import Diff


def render(diff: Diff) -> str:
    """One JSON object, ASCII, ended by a newline; nothing is capped. Equal diffs give equal bytes."""
    return json.dumps(plain(diff), indent=2, allow_nan=False) + "\n"


def plain(diff: Diff) -> dict[str, Any]:
    """As :func:`render`, before it is text."""
    found: dict[str, Any] = _plain(diff)
    return found


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what :func:`render` returns; within a version fields may be added."""
    from compilescope.compare.diff import FORMAT_VERSION, Diff

    definitions: dict[str, Any] = {}
    _define(Diff, definitions)
    for name, definition in definitions.items():
        for field, described in definition["properties"].items():
            _describe(described, f"{name}.{field}")
    root = definitions.pop("Diff")
    root["properties"]["format_version"] = {
        "const": FORMAT_VERSION,
        "description": DESCRIPTIONS["Diff.format_version"],
    }
    return {
        "$schema": _DIALECT,
        "$id": f"urn:compilescope:diff:{FORMAT_VERSION}",
        "title": "CompileScope diff",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _describe(described: dict[str, Any], key: str) -> None:
    described["description"] = DESCRIPTIONS.get(key) or described.get("description", "")
    words = VOCABULARY.get(key)
    if words is not None:
        described.pop("type", None)
        described["enum"] = list(words)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
