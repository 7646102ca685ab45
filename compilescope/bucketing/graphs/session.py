"""Who may replay now, and whose outputs a replay would overwrite.

Recordings share one memory pool, so a replay may overwrite the outputs of any earlier one. Between two calls
of the model that is what the user was told. Within one call it must not happen: a graph break or a function
called twice leaves outputs that are still needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from compilescope.bucketing.graphs.recorder import Recorder

if TYPE_CHECKING:
    from compilescope.bucketing.graphs.artifact import GraphedArtifact

ANOTHER_CALLER = "another thread or stream uses the graphs"
TUNING = "kernels are tuned at a typical size before anything is recorded"
OUTPUTS_IN_USE = "would overwrite outputs of the same call"


class Session:
    """One for each backend. The first thread and stream to call own the recordings, unless all is cloned.

    ``handed_out`` are addresses of storages that replays write outputs to.
    """

    def __init__(self, recorder: Recorder, clone_outputs: bool) -> None:
        self.recorder = recorder
        self.lock = threading.Lock()
        self.handed_out: set[int | None] = set()
        self._clone_all = clone_outputs
        self._owner: tuple[int, int] | None = None
        self._is_warming = False
        self._is_tuning = False
        self._has_begun = False
        self._exposed: GraphedArtifact | None = None
        self._latest: GraphedArtifact | None = None

    def begin(self) -> None:
        """The model is called from outside: outputs of earlier calls may be overwritten.

        Where nothing ever says so, all outputs are cloned.
        """
        self._has_begun = True
        if self._owner is None or self._owner[0] == threading.get_ident():
            self._exposed = self._latest = None

    def refusal(self, device: torch.device) -> str | None:
        """Why nothing on ``device`` may be replayed now; None when it may. Call with the lock held."""
        busy = self.recorder.busy()
        if busy is not None or self._is_tuning:
            return busy or TUNING
        caller = (threading.get_ident(), self.recorder.queue(device))
        if self._owner is None and not self._is_warming:
            self._owner = caller
        if self._owner is not None:
            thread, queue = self._owner
            # Another queue is not ordered after the last replay; another thread may still read its outputs.
            if queue != caller[1] or (thread != caller[0] and not self._clone_all):
                return ANOTHER_CALLER
        if self._latest is not None:
            self._latest.clones = True
        if self._exposed is not None:
            return OUTPUTS_IN_USE
        return None

    def must_clone(self, artifact: GraphedArtifact) -> bool:
        """Whether the outputs just made must be copied out of the pool. Call with the lock held."""
        self._latest = artifact
        if self._clone_all or self._is_warming or artifact.clones or not self._has_begun:
            return True
        self._exposed = artifact
        return False

    def is_warming(self) -> bool:
        return self._is_warming

    @contextmanager
    def tuning(self) -> Iterator[None]:
        """Calls within run the artifacts."""
        self._is_tuning = True
        try:
            yield
        finally:
            self._is_tuning = False

    @contextmanager
    def warming(self) -> Iterator[None]:
        """Calls within belong to nobody, and show which artifacts are followed by others in one call."""
        self._is_warming = True
        try:
            yield
        finally:
            self.recorder.settle()
            self._is_warming = False
            self._exposed = self._latest = None
