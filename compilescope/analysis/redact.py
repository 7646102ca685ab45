"""A report for the eyes of strangers: no path, host, argument, source text or string value of the user's.

Nothing is trusted to be harmless: a text keeps numbers, punctuation and public words (those of CompileScope's
own sentences, of torch and of Python); every other word becomes a placeholder, the same one for equal words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from compilescope.analysis._redact_words import HIDDEN, Placeholders
from compilescope.analysis.report import Graph, GuardChange, Recompile, Report
from compilescope.analysis.report_ladder import Ladder

# Fixed words of ours and torch's, numbers as text, ids that we made.
_KEPT = frozenset(
    [
        "process",
        "id",
        "kind",
        "status",
        "severity",
        "rule",
        "slug",
        "holder",
        "started",
        "counts_as_of",
        "time",
        "device",
        "dtype",
        "direction",
        "mode",
        "compile_id",
        "compile_ids",
        "gb_ids",
        "torch",
        "python",
        "versions",
        "resume",
        "causes",
        "fix_kind",
        "confidence",
        "git_revision",
        "grid",
        "basis",
        "phase",
        "phases",
        "parallel",
        "outside",
        "stack",
        "kernels",
        "by_kind",
        "more",
        "unknown_records",
    ]
)
_VALUES = ("changes", "blocked_changes", "old", "new")
_FILES = frozenset({"file"})
_FUNCTIONS = frozenset({"function"})
_COMMANDS = frozenset({"command", "argv"})
_ABSENT = frozenset({"diff", "command"})  # with placeholders neither could be used
_PHASES = frozenset({"forward", "backward"})  # seconds by phase, where they are mappings


def redact(report: Report) -> Report:
    """A new report; equal reports give equal ones. ``Report.redacted`` tells a view to say so."""
    places = list(_places(report))
    words = Placeholders()
    words.learn(
        (text for name, text in places if name in _FILES),
        (text for name, text in places if name in _FUNCTIONS),
        (text for name, text in places if name == "code"),
    )
    redacted: Report = _redacted(report, "", words)
    recording = replace(
        redacted.recording, path="recording", name=words.file(report.recording.name or "program")
    )
    return replace(redacted, recording=recording, redacted=True)


def _places(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(field, text) of every file, function and line of code in the report."""
    if isinstance(value, str):
        if name in _FILES or name in _FUNCTIONS or name == "code":
            yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _places(item, name)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _places(getattr(value, field.name), field.name)


def _redacted(value: Any, name: str, words: Placeholders) -> Any:
    if isinstance(value, str):
        return _text(value, name, words)
    if name in _COMMANDS and isinstance(value, list):
        return _command(value, words)
    if isinstance(value, dict):
        return _mapping(value, name, words)
    if isinstance(value, list | tuple):
        return type(value)(_redacted(item, name, words) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _redacted(getattr(value, f.name), f.name, words) for f in fields(value)}
        if (isinstance(value, Recompile) and value.value_type == "str") or _compares_values(value):
            changed |= {name: _hidden(getattr(value, name), words) for name in _VALUES if name in changed}
        if isinstance(value, Graph):  # not source: the hash that names the generated code
            changed["code"] = None if value.code is None else words.of("code", value.code)
        if isinstance(value, Ladder):  # not source: sizes, in our own words
            changed["code"] = words.text(value.code)
        return replace(value, **changed)
    return value


def _compares_values(value: Any) -> bool:
    return isinstance(value, GuardChange) and value.kind == "value"


def _hidden(value: Any, words: Placeholders) -> Any:
    """A string of the program is nobody's to read, though its word may be public ("train")."""
    if isinstance(value, list | tuple):
        return type(value)(_hidden(item, words) for item in value)
    return words.of("text", value) if isinstance(value, str) else value


def _text(text: str, name: str, words: Placeholders) -> str | None:
    if name in _KEPT:
        return text
    if name in _ABSENT:
        return None
    if name == "code":
        return HIDDEN
    if name in _FILES:
        return words.file(text)
    return words.function(text) if name in _FUNCTIONS else words.text(text)


def _command(arguments: list[Any], words: Placeholders) -> list[str]:
    return [
        "python" if not number and "python" in str(argument) else words.of("argument", str(argument))
        for number, argument in enumerate(arguments)
    ]


def _mapping(value: dict[Any, Any], name: str, words: Placeholders) -> dict[Any, Any]:
    if name in _KEPT or name in _PHASES:
        return value
    ours = "rule" in value  # a finding: the names of its parts
    return {
        key if ours else words.text(str(key)): _redacted(item, str(key), words) for key, item in value.items()
    }
