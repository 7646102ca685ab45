"""A rung that is trained, behind two CUDA graphs: AOTAutograd's artifact with both halves replaced."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from compilescope.bucketing.graphs.recorder import Recording
from compilescope.bucketing.graphs.training.backward import GraphedBackward
from compilescope.bucketing.graphs.training.forward import ForwardRecording, GraphedForward
from compilescope.bucketing.graphs.training.session import Level, TrainingSession
from compilescope.bucketing.graphs.training.values import address
from compilescope.bucketing.halves import Half
from compilescope.bucketing.inner import Artifact, boxed_form

Report = Callable[["GraphedTraining", Recording | None, str | None], None]


class GraphedTraining:
    """Called like the artifact, which autograd goes on seeing: only what its two halves run is replaced.

    ``kept`` are positions of parameters and buffers, which a recording reads where they are, ``mutated``
    those that the forward writes: runs before the recording must not show. ``returned`` of the forward's
    results are the caller's, the others are saved for the backward.
    """

    def __init__(
        self,
        label: str,
        artifact: Artifact,
        halves: tuple[Half, Half],
        returned: int,
        kept: Sequence[int],
        mutated: Sequence[int],
        device: torch.device,
        session: TrainingSession,
        report: Report,
    ) -> None:
        self.label = label
        self.device = device
        self.session = session
        self.given_up: str | None = None
        self.backward_given_up: str | None = None
        self.recorded = 0
        self.graphs = 0
        self.replays = 0
        self.backward_replays = 0
        self.copied_bytes = 0
        self._half_bytes: dict[bool, int] = {}
        self.run_plainly: Counter[str] = Counter()
        self.note = ""
        self._boxed = boxed_form(artifact)
        self._artifact = artifact
        self._kept, self._mutated = tuple(kept), tuple(mutated)
        self._report = report
        self._call = threading.local()
        forward, backward = halves
        self._forward = GraphedForward(self, forward.function, returned)
        forward.serve_with(self._forward)
        backward.serve_with(GraphedBackward(self, backward.function))

    def __call__(self, *a: Any) -> Any:
        self._call.arguments = a
        try:
            return self._artifact(*a) if self._boxed is None else self._boxed(list(a))
        finally:
            self._call.arguments = ()

    def kept_addresses(self) -> set[int | None]:
        """Of the call that this thread is in: where its parameters and buffers are."""
        arguments = self._call.arguments
        return {address(arguments[position]) for position in self._kept} - {None}

    def mutated_tensors(self) -> list[torch.Tensor]:
        arguments = self._call.arguments
        return [arguments[position] for position in self._mutated]

    def may_follow(self) -> Iterator[tuple[Level, ForwardRecording]]:
        """Forwards that a backward may belong to, with where they were recorded; the last first."""
        for level, forward in self.session.replayed():
            if forward.rung is self:
                yield level, forward
        yield from self._forward.saving_nothing()

    def counted(self, recording: Recording) -> None:
        """A half was recorded, which it is again for other parameters and pools: it copies as much then."""
        self.graphs += recording.graphs
        self._half_bytes[recording.of_backward] = recording.copied_bytes
        self.copied_bytes = sum(self._half_bytes.values())
        self._report(self, recording, None)

    def tell(self, reason: str) -> None:
        """A half is not recorded, now or later."""
        self._report(self, None, reason)
