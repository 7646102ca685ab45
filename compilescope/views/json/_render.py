"""Report object to JSON text: equal reports give equal bytes."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compilescope.analysis.report import Report


def render(report: Report) -> str:
    """The whole report as one JSON object, ASCII, ended by a newline; nothing is capped or shortened.

    Mappings are sorted by key. A number that is not finite becomes null where a measure is expected and
    text ("nan", "inf") where a recorded value is. Lone surrogates, which strict parsers
    refuse, are spelled out.
    """
    return json.dumps(_plain(report), indent=2, allow_nan=False) + "\n"


def _plain(value: Any, *, measure: bool = False) -> Any:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if is_dataclass(value) and not isinstance(value, type):
        named = _fields(type(value))
        return {name: _plain(getattr(value, name), measure=is_measure) for name, is_measure in named}
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None if measure else str(value)
    if isinstance(value, dict):
        items = sorted(((str(key), item) for key, item in value.items()), key=itemgetter(0))
        return {_plain(key): _plain(item, measure=measure) for key, item in items}
    if isinstance(value, list | tuple):
        return [_plain(item, measure=measure) for item in value]
    return value


@cache
def _fields(cls: type) -> tuple[tuple[str, bool], ...]:
    """Field names, and whether a float there is a measure rather than a value the user's program held."""
    return tuple((field.name, "float" in str(field.type)) for field in fields(cls))
