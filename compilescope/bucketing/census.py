"""Which calls no captured graph served, and which states a warm-up has prepared."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from compilescope.bucketing.state import GlobalState


class Flag:
    """Set by every graph that runs: one for all threads, because one of each thread's own costs 0.08 us."""

    __slots__ = ("served",)

    def __init__(self) -> None:
        self.served = False


class Seen(threading.local):
    """What the warm-up of a thread has run: the entries that ``ran``, and how often any graph did."""

    muted = False
    graphs_run = 0

    def __init__(self) -> None:
        self.ran: list[Any] = []


class Census:
    """Counts by state. Dynamo says once, if at all, that it leaves a model to Python from now on."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.flag = Flag()
        self._numbers = itertools.count()
        self._latest = -1
        self._eager_calls: Counter[str] = Counter()
        self._warmed: dict[str, bool] = {}

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Within it no call of this thread is counted."""
        self.seen.muted = True
        try:
            yield
        finally:
            self.seen.muted = False

    def begin(self) -> int:
        """A call begins; its number is for :meth:`end`."""
        number = self._latest = next(self._numbers)
        self.flag.served = False
        return number

    def end(self, number: int, training: bool | None) -> None:
        """A call has come back: it is counted where no graph has run in it.

        Where another call began meanwhile, nobody knows, and it is not: one that ran is never counted.
        """
        was_eager = not self.flag.served and self._latest == number
        if was_eager and not self.seen.muted:
            self._eager_calls[state_text(training)] += 1

    def note_warmed(self, states: Mapping[str, bool]) -> None:
        """A warm-up has ended; of each of its states whether it has a graph."""
        self._warmed.update(states)

    def forget_warmed(self) -> None:
        self._warmed.clear()

    def eager_calls(self) -> tuple[tuple[str, int], ...]:
        """State and calls in it that ran eagerly, outside every graph."""
        return tuple(self._eager_calls.items())

    def warmed(self) -> tuple[tuple[str, bool], ...]:
        """State that was warmed up, and whether it has a graph."""
        return tuple(self._warmed.items())


def state_text(training: bool | None) -> str:
    """The state that a call is made in; ``training`` is None where that is no module's."""
    own = [] if training is None else ["train" if training else "eval"]
    return ", ".join([*own, str(GlobalState.now())])
