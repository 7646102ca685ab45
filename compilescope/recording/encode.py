"""Turns whatever torch hands over into plain values that JSON can hold.

msgspec is fast but not ``json.dumps``: subclasses of str and int go to a hook, a hook may recurse for ever
on keys, non-finite floats become null, lone surrogates raise. Only exact plain types reach it from here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from compilescope.recording.format import ESCAPE, SPILL_CHARS

Spill = Callable[[str, str], dict[str, Any]]
"""``(text, payload kind) -> {"$": [...]}``."""

_DEEPEST = 64
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1


def plain(value: Any, root: str, key: str, spill: Spill, depth: int = 0) -> Any:
    """The value as plain JSON types: ``spill`` replaces long strings, nulls in objects are dropped.

    Non-finite floats and integers beyond 64 bits become strings.
    """
    kind = type(value)
    if kind is str:
        return value if len(value) < SPILL_CHARS else spill(value, f"{root}.{key}")
    if kind is int:
        return value if _MIN_INT <= value <= _MAX_INT else plain(str(value), root, key, spill, depth)
    if value is None or kind is bool:
        return value
    if kind is float:
        return value if isfinite(value) else str(value)
    if depth >= _DEEPEST:
        return plain(_text(value), root, key, spill, depth)
    if kind is dict:
        return _plain_dict(value, root, spill, depth)
    if kind is list or kind is tuple:
        return [plain(item, root, key, spill, depth + 1) for item in value]
    return plain(_as_builtin(value), root, key, spill, depth + 1)


def _plain_dict(value: dict[Any, Any], root: str, spill: Spill, depth: int) -> dict[str, Any]:
    out = {}
    # list(): another thread may still be adding to a live dict of torch's.
    for key, item in list(value.items()):
        if item is None:
            continue
        if type(key) is not str:
            key = _text(key)
        out[ESCAPE + key if key[:1] == ESCAPE else key] = plain(item, root, key, spill, depth + 1)
    return out


def _as_builtin(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value if type(value.value) in (str, int) else _text(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=_text)
    return _text(value)


def _text(value: Any) -> str:
    # str() of a tensor would read it, and wait for its device.
    if hasattr(type(value), "__torch_function__"):
        return f"<{type(value).__name__}>"
    text = str(value)
    return text if type(text) is str else str.__str__(text)


def scrub(value: Any) -> Any:
    """A plain value with lone surrogates written out as ``\\udcff``: UTF-8 cannot hold them."""
    if type(value) is str:
        return value.encode("utf-8", "backslashreplace").decode()
    if type(value) is list:
        return [scrub(item) for item in value]
    if type(value) is dict:
        return {scrub(key): scrub(item) for key, item in value.items()}
    return value


def utf8(text: str) -> tuple[bytes, bool]:
    """The text as UTF-8, and whether it is exactly that (lone surrogates are written out)."""
    try:
        return text.encode(), True
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace"), False
