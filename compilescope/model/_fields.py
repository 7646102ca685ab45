"""Reading of untrusted record fields: a wrong type is absent, never a crash and never a guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from compilescope.model.values import Location

FileName = Callable[[int | None], str | None]

# `runpy` and the import system stand above the user's program as frozen modules.
_BOOT = ("<frozen ",)


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def seconds(value: Any, unit: float = 1.0) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * unit if is_number and 0 <= value < float("inf") else None


def mapping(value: Any) -> Mapping[str, Any]:
    # The exact type first: asking an abstract class costs ten times as much, a million times.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


_place = lru_cache(maxsize=1 << 14)(Location)


def location(file: Any, line: Any, function: Any) -> Location | None:
    if not isinstance(file, str):
        return None
    return _place(file, number(line) or 0, text(function) or "?")


def stack(frames: Any, file_name: FileName) -> tuple[Location, ...]:
    """Torch's interned frames, outermost first, without the interpreter's own start-up frames."""
    return tuple(place for frame in sequence(frames) if (place := _of_frame(frame, file_name)))


def _of_frame(frame: Any, file_name: FileName) -> Location | None:
    fields = mapping(frame)
    file = fields.get("uninterned_filename") or file_name(number(fields.get("filename")))
    place = location(file, fields.get("line"), fields.get("name"))
    return place if place and not place.file.startswith(_BOOT) else None


def innermost(frames: Any, file_name: FileName) -> Location | None:
    """The last of :func:`stack`."""
    return next(
        (place for frame in reversed(sequence(frames)) if (place := _of_frame(frame, file_name))), None
    )


def call(frames: Any, file_name: FileName) -> tuple[Location, ...]:
    """The capture's own walk: rows of file id, line, function, innermost first."""
    found = []
    for row in sequence(frames):
        if len(row) == 3:
            place = location(file_name(number(row[0])), row[1], row[2])
            if place and not place.file.startswith(_BOOT):
                found.append(place)
    return tuple(found)
