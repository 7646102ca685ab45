"""Rows with stable ids, and no more of them than a browser can show."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_SLUG = 80


@dataclass(frozen=True, slots=True)
class Row(Generic[T]):
    id: str
    item: T


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The rows that are shown, and the items that are not."""

    shown: list[Row[T]]
    rest: list[T]

    @property
    def total(self) -> int:
        return len(self.shown) + len(self.rest)


def slug(text: str) -> str:
    """'25_hot_loop.py:13' -> '25-hot-loop-py-13'; what is lost to that alphabet or to length is hashed."""
    plain = _NOT_IN_IDS.sub("-", text).strip("-")
    if text.isascii() and len(plain) <= _LONGEST_SLUG:
        return plain or "x"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:_LONGEST_SLUG].strip('-') or 'x'}-{digest}"


def allot(wanted: Sequence[int], room: int) -> list[int]:
    """Share ``room`` rows: an equal part for everyone first, what is left over in order of importance."""
    equal = room // max(len(wanted), 1)
    given = [min(number, equal) for number in wanted]
    spare = room - sum(given)
    for index, number in enumerate(wanted):
        extra = min(number - given[index], spare)
        given[index] += extra
        spare -= extra
    return given


@dataclass(slots=True)
class Shelf:
    """Makes rows whose ids are unique in the page."""

    _taken: set[str] = field(default_factory=set)

    def rows(self, prefix: str, items: Sequence[T], most: int, name: Callable[[T], str]) -> Rows[T]:
        """``name`` says what makes an item the same one in another report: no counters, no order."""
        shown = [Row(self._unique(f"{prefix}-{slug(name(item))}"), item) for item in items[:most]]
        return Rows(shown, list(items[most:]))

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}-{number}"
        self._taken.add(name)
        return name
