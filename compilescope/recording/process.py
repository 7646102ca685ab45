"""What every process of a recording offers, wherever its records come from."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from compilescope.recording.damage import DamageLog
from compilescope.recording.format import Damage, Record, Ref
from compilescope.recording.selection import Selection


class ProcessRecording(ABC):
    """One process. ``id`` is unique in its recording; ``kind`` is "recording" or "torch_trace".

    ``head`` holds what the first record says (``pid``, ``rank``, ``versions``, ...), as far as it is known.
    """

    kind: str

    def __init__(self, process_id: str) -> None:
        self.id = process_id
        self.head: dict[str, Any] = {}
        self._damage = DamageLog()

    @property
    def damage(self) -> list[Damage]:
        """What could not be read so far: it grows while records and payloads are read."""
        return self._damage.entries()

    def absorb(self, damage: DamageLog) -> None:
        """Takes over what is damaged in its files outside its own records."""
        self._damage.absorb(damage)

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the process got to write its last record."""

    @abstractmethod
    def records(self, wanted: Collection[str] | Selection | None = None) -> Iterator[Record]:
        """The records in file order, only those of the kinds ``wanted`` if given. May be called again.

        With kinds, lines of others are not looked at; a :class:`Selection` looks at them, and says more.
        """

    @abstractmethod
    def file(self, number: int | None) -> str | None:
        """The path a file id stands for, None if unknown."""

    @abstractmethod
    def text(self, value: object) -> str | None:
        """The text of a str or ``Ref``; None for anything else, and for a ref that cannot be read."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Building many objects at once takes 2-3 times longer while the collector keeps visiting them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


__all__ = ["ProcessRecording", "Ref", "gc_paused"]
