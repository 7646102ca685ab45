"""Who may replay now: the proof that nothing a backward still needs is written over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from compilescope.bucketing.graphs.buffers import StaticBuffers
from compilescope.bucketing.graphs.recorder import Recorder

if TYPE_CHECKING:
    from compilescope.bucketing.graphs.training.forward import ForwardRecording

ANOTHER_STREAM = "another stream uses the graphs"
PENDING = "the backward of an earlier call is still to come"


class TrainingSession:
    """One for each graph that Dynamo captured: its rungs share a memory pool that nobody else uses.

    ``outstanding`` is the forward that was replayed last. No other can have anything in the pool that is
    still needed: it would not have let that one run.
    """

    def __init__(self, recorder: Recorder, is_warming: Callable[[], bool]) -> None:
        self.recorder = recorder
        self.lock = threading.Lock()
        self.outstanding: ForwardRecording | None = None
        self.inputs = StaticBuffers()
        self.tangents = StaticBuffers()
        self._is_warming = is_warming
        self._queue: int | None = None

    def refusal(self, device: torch.device) -> str | None:
        """Why nothing on ``device`` may be replayed now; None when it may. Call with the lock held."""
        busy = self.recorder.busy()
        if busy is not None:
            return busy
        queue = self.recorder.queue(device)
        if self._queue is None and not self._is_warming():
            self._queue = queue
        # Another queue is not ordered after the last replay.
        return ANOTHER_STREAM if self._queue is not None and self._queue != queue else None

    def pending(self) -> str | None:
        """Why no forward may be replayed now. Call with the lock held."""
        return PENDING if self.outstanding is not None and self.outstanding.is_held() else None

    def forget(self) -> None:
        """A recording failed: what is recorded from now on goes to a pool of its own."""
        self.recorder.forget_pool()

    @property
    def buffer_bytes(self) -> int:
        return self.inputs.size_bytes + self.tangents.size_bytes
