"""Outcomes of Inductor's and AOTAutograd's caches, and which component of a key made a miss."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compilescope.model.clipped import clipped
from compilescope.model.inductor.values import CacheOutcome, Component, KeyChange, Miss

MAX_SHOWN = 200  # characters of a component's differing part
_ARTIFACT = re.compile(r"^(fx_graph|aotautograd)_cache_(hit|miss|bypass)$")
_COMPONENT = re.compile(r"^\[(\w+)\] ([^:]+?): ?(.*)$", re.S)
# Which change a person can act on, first.
_ORDER = (
    "gm",
    "example_inputs",
    "fx_kwargs",
    "inputs_to_check",
    "inductor_config",
    "system_info",
    "torch_version",
)


def cache_outcome(name: str, text: str | None) -> CacheOutcome | None:
    """From an artifact's name and payload; None if it is about something else. A torn one loses detail."""
    found = _ARTIFACT.match(name)
    if not found:
        return None
    cache = "aot_autograd" if found.group(1) == "aotautograd" else "fx_graph"
    payload = _mapping(text)
    return CacheOutcome(
        cache=cache,
        outcome=found.group(2),
        key=_text(payload.get("key")),
        detail=_text(payload.get("cache_status_detailed")),
        bypass_reason=_text(payload.get("cache_bypass_reason")),
        saved_s=_saved(payload),
        took_s=_seconds(payload.get("time_taken_ns"), 1e-9),
        components=components(payload.get("components")),
        triton_bundle=_text(payload.get("triton_bundler_meta")),
    )


def components(value: Any) -> tuple[Component, ...]:
    """Parts of a cache key as torch lists them: ``[digest] path: text``."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    parts = (
        (_COMPONENT.match(part) for part in value if isinstance(part, str)) if isinstance(value, list) else ()
    )
    return tuple(Component(m.group(2), m.group(1), m.group(3)) for m in parts if m)


def why_miss(a: Sequence[Component], b: Sequence[Component]) -> tuple[KeyChange, ...]:
    """The components in which two keys differ, the ones a person can change first. Equal keys: empty.

    A digest decides, not the text: texts are shortened by torch or print alike for different values.
    """
    before, after = _by_path(a), _by_path(b)
    changes = []
    for path in dict.fromkeys((*before, *after)):
        old, new = before.get(path), after.get(path)
        if old is None and new is not None:
            changes.append(KeyChange(path, "added", "", clipped(new.text, MAX_SHOWN)))
        elif new is None and old is not None:
            changes.append(KeyChange(path, "removed", clipped(old.text, MAX_SHOWN), ""))
        elif old is not None and new is not None and old.digest != new.digest and old.text == new.text:
            changes.append(
                KeyChange(path, "digest", clipped(old.text, MAX_SHOWN), clipped(new.text, MAX_SHOWN))
            )
        elif old is not None and new is not None and old.digest != new.digest:
            changes.append(KeyChange(path, "changed", *_differing(old.text, new.text)))
    return tuple(sorted(changes, key=lambda change: _rank(change.path)))


def nearest(
    outcome: CacheOutcome, others: Iterable[CacheOutcome]
) -> tuple[CacheOutcome, tuple[KeyChange, ...]] | None:
    """The other outcome of the same cache whose key differs least, and how. The graph counts most: two keys
    of the same graph are nearer than two of different graphs under one configuration.
    """
    candidates = [o for o in others if o.cache == outcome.cache and o.components]
    compared = [(other, why_miss(other.components, outcome.components)) for other in candidates]
    return min(compared, key=lambda pair: _distance(pair[1]), default=None)


def explained_misses(before: Iterable[CacheOutcome], after: Iterable[CacheOutcome]) -> tuple[Miss, ...]:
    """Each miss of a run, with the nearest entry of an earlier run. ``before`` may hold hits too."""
    known = list(before)
    return tuple(_explained(outcome, known) for outcome in after if outcome.outcome == "miss")


def _explained(outcome: CacheOutcome, known: list[CacheOutcome]) -> Miss:
    found = nearest(outcome, known)
    return Miss(outcome, *found) if found is not None else Miss(outcome, None, ())


def _distance(changes: Sequence[KeyChange]) -> tuple[bool, int]:
    return (any(change.path == "gm" for change in changes), len(changes))


def _by_path(parts: Sequence[Component]) -> dict[str, Component]:
    """Paths repeat where a pass appears twice: later ones are numbered."""
    found: dict[str, Component] = {}
    for part in parts:
        path, n = part.path, 2
        while path in found:
            path, n = f"{part.path} ({n})", n + 1
        found[path] = part
    return found


def _differing(old: str, new: str) -> tuple[str, str]:
    """The first lines that differ; of one-line texts the part around the first difference."""
    pairs = zip(_lines(old), _lines(new), strict=False)
    first = next(((a, b) for a, b in pairs if a != b), (old, new))
    if max(len(first[0]), len(first[1])) <= MAX_SHOWN:
        return first
    same = next((i for i, (a, b) in enumerate(zip(*first, strict=False)) if a != b), 0)
    start = max(0, same - MAX_SHOWN // 4)
    before, after = (_from(text, start) for text in first)
    return before, after


def _from(text: str, start: int) -> str:
    return (f"({start:,} characters before) ..." if start else "") + clipped(text[start:], MAX_SHOWN)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")]


def _rank(path: str) -> tuple[int, str]:
    head = re.split(r"[\[.]", path)[0]
    return (_ORDER.index(head) if head in _ORDER else len(_ORDER), path)


def _mapping(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _saved(payload: Mapping[str, Any]) -> float | None:
    saved = _seconds(payload.get("time_saved_ns"), 1e-9)
    return saved if saved is not None else _seconds(payload.get("time_saved_ms"), 1e-3)


def _seconds(value: Any, unit: float) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * unit if is_number and 0 <= value < float("inf") else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
