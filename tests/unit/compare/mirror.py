"""A diff seen from the other side, without what only one side has: paths and lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from compilescope.compare import Diff

_OTHER = {
    "split": "merged",
    "more graphs": "fewer graphs",
    "new": "gone",
    "added": "removed",
    "better": "worse",
}
_OTHER |= {there: here for here, there in _OTHER.items()}
_SWAPPED = (("base", "head"), ("new", "gone"), ("before", "after"))
_OWN = ("place", "compile_id", "verdict", "conditions", "format_version", "shapes")


def plain(diff: Diff) -> Any:
    return _plain(asdict(diff), swap=False)


def mirrored(diff: Diff) -> Any:
    return _plain(asdict(diff), swap=True)


def _plain(value: Any, *, swap: bool, name: str = "") -> Any:
    if isinstance(value, dict):
        if value.get("status") == "same":  # why HEAD missed is not asked of BASE
            value = value | {"reason": None}
        items = ((_renamed(key, swap), _plain(item, swap=swap, name=key)) for key, item in value.items())
        return {key: item for key, item in sorted(items) if key not in _OWN}
    if isinstance(value, list):
        return sorted((_plain(item, swap=swap) for item in value), key=repr)
    if not swap:
        return value
    if name == "worse" and value is not None:
        return not value
    if name in ("change", "direction"):
        return _OTHER.get(value, value)
    if name == "side":
        return {"base": "head", "head": "base"}.get(value, value)
    if name == "reason" and isinstance(value, str):
        return value.replace("BASE", "\0").replace("HEAD", "BASE").replace("\0", "HEAD")
    return value


def _renamed(key: str, swap: bool) -> str:
    for one, other in _SWAPPED if swap else ():
        for here, there in ((one, other), (other, one)):
            if key == here or key.startswith(f"{here}_"):
                return there + key.removeprefix(here)
    return key
