"""The command that opens a file at a line in the user's editor."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

# Editors that take FILE:LINE, and how; all others understand +LINE FILE.
_COLON = {
    "code": ("--goto",),
    "code-insiders": ("--goto",),
    "codium": ("--goto",),
    "cursor": ("--goto",),
    "subl": (),
    "hx": (),
    "helix": (),
    "zed": (),
}


def editor(environment: Mapping[str, str]) -> str | None:
    """What the user named: $VISUAL before $EDITOR."""
    return environment.get("VISUAL") or environment.get("EDITOR") or None


def editor_command(editor: str, path: Path, line: int | None) -> list[str]:
    """The path is made absolute: none is an option. Raises ValueError for an ``editor`` without words."""
    words = shlex.split(editor)
    if not words:
        raise ValueError("the editor's name is empty")
    target = str(path.absolute())
    if line is None:
        return [*words, target]
    options = _COLON.get(Path(words[0]).name)
    return [*words, *options, f"{target}:{line}"] if options is not None else [*words, f"+{line}", target]
