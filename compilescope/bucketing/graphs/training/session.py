"""Who may replay now, and where: the proof that nothing a backward still needs is written over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch

from compilescope.bucketing.graphs.buffers import StaticBuffers
from compilescope.bucketing.graphs.recorder import Recorder

if TYPE_CHECKING:
    from compilescope.bucketing.graphs.training.forward import ForwardRecording

LEVELS = 64
"""Forwards replayed before the first of their backwards: layers that share code, or losses added up."""

ANOTHER_STREAM = "another stream uses the graphs"
PENDING = f"the backwards of {LEVELS} earlier calls are still to come"


class Level:
    """A memory pool, and the forward in it that was replayed last, ``outstanding``.

    No other can have anything in the pool that is still needed: it would not have let that one run.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.outstanding: ForwardRecording | None = None

    def is_held(self) -> bool:
        return self.outstanding is not None and self.outstanding.is_held()


class TrainingSession:
    """One for each graph that Dynamo captured. Its rungs share what is copied to, and the pools.

    A forward is replayed on the first level where nobody waits for a backward; so the layers of a model, and
    calls whose backwards come later, find the level they had the last time.
    """

    def __init__(self, make_recorder: Callable[[], Recorder], is_warming: Callable[[], bool]) -> None:
        self.lock = threading.Lock()
        self.inputs = StaticBuffers()
        self.tangents = StaticBuffers()
        self._make_recorder = make_recorder
        self._levels = [Level(make_recorder())]
        self._is_warming = is_warming
        self._queue: int | None = None

    def refusal(self, device: torch.device) -> str | None:
        """Why nothing on ``device`` may be replayed now; None when it may. Call with the lock held."""
        recorder = self._levels[0].recorder
        busy = recorder.busy()
        if busy is not None:
            return busy
        queue = recorder.queue(device)
        if self._queue is None and not self._is_warming():
            self._queue = queue
        # Another queue is not ordered after the last replay.
        return ANOTHER_STREAM if self._queue is not None and self._queue != queue else None

    def free_level(self) -> Level | None:
        """Where a forward may be replayed; None when none is free. Call with the lock held."""
        for level in self._levels:
            if not level.is_held():
                return level
        if len(self._levels) == LEVELS:
            return None
        self._levels.append(Level(self._make_recorder()))
        return self._levels[-1]

    def replayed(self) -> Iterator[tuple[Level, ForwardRecording]]:
        """What was replayed last on each level; backwards come in the reverse order of forwards."""
        for level in reversed(self._levels):
            if level.outstanding is not None:
                yield level, level.outstanding

    @property
    def buffer_bytes(self) -> int:
        return self.inputs.size_bytes + self.tangents.size_bytes

    @property
    def pool_bytes(self) -> int:
        return sum(level.recorder.pool_bytes() for level in self._levels)
