"""The entry a call came closest to fitting: not always the newest one.

A mode that alternates differs from the newest entry on every call, although an older entry has it; what made
torch compile again is what that older entry did not accept. Of the newest entry every guard is known, of an
older one the first that failed, and the values it was compiled for as far as they ever changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compilescope.analysis.change import Change

Key = tuple[str, str]
Values = Mapping[Key, Any]

# Kinds whose values are compared by equality; of others (an object's identity) equal words prove nothing.
_SIZES = ("size", "stride", "rank", "container_length")
_FLAGS = ("requires_grad", "training_mode", "grad_mode", "autocast")
_COMPARED = {kind: kind for kind in (*_SIZES, *_FLAGS, "value", "dtype", "device")} | {"size_one": "size"}


@dataclass(frozen=True, slots=True)
class Nearest:
    """``changes`` against the nearest entry; ``accepted`` differed from the newest one only."""

    changes: tuple[Change, ...]
    accepted: tuple[Change, ...] = ()


class Entries:
    """The values that each entry of one function was compiled for. Entries come in order."""

    def __init__(self) -> None:
        self._newest: dict[Key, Any] = {}
        self._of: dict[int, dict[Key, Any]] = {0: {}}

    def nearest(
        self, changes: Sequence[Change], older: Iterable[tuple[int, Sequence[Change]]], *, into: int | None
    ) -> Nearest:
        """``changes``: against the newest entry. ``older``: of each other entry what failed first. ``into``:
        the number of the entry this call compiled, None if it was refused.
        """
        self._learn(changes)
        met = {**self._newest, **{key: new for c in changes for key, new in _told(c, c.new)}}
        choices: list[tuple[float, bool, float, Nearest]] = [
            (_weight(changes), True, -math.inf, Nearest(tuple(changes)))
        ]
        for entry, first in older:
            values = self._of.get(entry)
            if values and first:
                found = _against(changes, first, values, met)
                choices.append((*_distance(changes, found, values, met), -entry, found))
        if into is not None:
            self._newest, self._of[into] = met, dict(met)
        return min(choices, key=lambda choice: choice[:3])[3]

    def _learn(self, changes: Sequence[Change]) -> None:
        """What changes now for the first time was the same in all entries before."""
        for change in changes:
            for key, old in _told(change, change.old):
                for values in (self._newest, *self._of.values()):
                    values.setdefault(key, old)


def _against(changes: Sequence[Change], first: Sequence[Change], values: Values, met: Values) -> Nearest:
    """What an older entry does not accept: torch's word for the first of it, then of ``changes``."""
    told, accepted = [], []
    for change in changes:
        key = _key(change)
        if key is None or key not in values or key not in met:
            told.append(change)
        elif values[key] == met[key]:
            accepted.append(change)
        else:
            told.append(replace(change, old=values[key]))
    subjects = {change.subject for change in told}
    named = [_met(change, met) for change in first if change.subject not in subjects]
    return Nearest((*named, *told), tuple(accepted))


def _distance(changes: Sequence[Change], found: Nearest, values: Values, met: Values) -> tuple[float, bool]:
    """How much fails. An entry that accepts nothing of what changed is no closer than the newest, and at an
    equal number it has to accept all of it, with nothing else that may differ.
    """
    if not found.accepted:
        return math.inf, True
    failing = {change.subject for change in found.changes}
    others = any(key in values and values[key] != met[key] and key[0] not in failing for key in met)
    return _weight(found.changes), others or len(found.accepted) < len(changes)


def _met(change: Change, met: Values) -> Change:
    """Torch's message about an older entry, with what is known of the value that came."""
    if change.kind == "symbolic_guard" and change.old == f"2 <= {change.source}":
        size = met.get((change.source, "size"))
        return replace(change, kind="size_one", new=size if size in (0, 1) else "0 or 1", new_known=True)
    key = _key(change)
    if change.new_known or key is None or met.get(key, change.old) == change.old:
        return change
    return replace(change, new=met[key], new_known=True)


def _weight(changes: Iterable[Change]) -> int:
    """Sizes, dtypes and the like of several tensors move together: they count once."""
    return len({change.kind if change.from_tensor else change.key for change in changes})


def _key(change: Change) -> Key | None:
    kind = _COMPARED.get(change.kind)
    return (change.source, kind) if kind else None


def _told(change: Change, value: Any) -> Iterator[tuple[Key, Any]]:
    """The value as something comparable; nothing where it is not known, such as the text of a relation."""
    key = _key(change)
    if key is None or (key[1] in _SIZES and type(value) is not int):
        return
    if value is None and (key[1] != "value" or not change.new_known):
        return
    yield key, "tensor" if key[1] == "value" and value == "Tensor" else value
