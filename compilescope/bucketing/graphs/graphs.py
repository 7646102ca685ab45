"""The CUDA graphs of one backend."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import fx

from compilescope.bucketing.compile import CapturedGraph, CompiledRung
from compilescope.bucketing.graphs.artifact import GraphedArtifact
from compilescope.bucketing.graphs.buffers import BufferPlan, Slots, StaticBuffers
from compilescope.bucketing.graphs.cuda import CudaRecorder
from compilescope.bucketing.graphs.recorder import Recorder, Recording
from compilescope.bucketing.graphs.report import GraphLine, GraphReport
from compilescope.bucketing.graphs.session import Session
from compilescope.bucketing.graphs.skip import (
    Between,
    is_beside_training,
    is_trained,
    mutated_inputs,
    skip_reason,
)
from compilescope.bucketing.graphs.training import GraphedTraining, TrainingSession
from compilescope.bucketing.halves import forward_and_backward
from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.piecewise.sequence import PieceSequence
from compilescope.bucketing.state import GlobalState
from compilescope.observer import Event, GraphRecorded, GraphSkipped


class CudaGraphs:
    """Wraps the artifacts of static rungs. Outputs are valid until the next call unless ``clone_outputs``.

    With ``share_code`` a static rung is the dynamic artifact recorded at its sizes, where it is valid there.
    With ``runs_eagerly`` the operators that it matches, those a graph was split at, are not recorded.
    A rung that is trained has graphs of its forward and its backward, in pools of its entry's own.
    """

    def __init__(
        self,
        backend: str,
        report: Callable[[Event], None],
        *,
        clone_outputs: bool = False,
        share_code: bool = False,
        runs_eagerly: Callable[[fx.Node], bool] | None = None,
        recorder: Callable[[], Recorder] = CudaRecorder,
    ) -> None:
        self.share_code = share_code
        self._backend = backend
        self._report = report
        self._make_recorder = recorder
        self._recorder: Recorder = recorder()
        self._session = Session(self._recorder, clone_outputs)
        self._buffers = StaticBuffers()
        self._slots = Slots()
        self._runs_eagerly = runs_eagerly
        self._training: dict[int, TrainingSession] = {}
        self._graphed: list[tuple[int, GlobalState, GraphedArtifact | GraphedTraining]] = []
        self._skipped: list[GraphLine] = []

    def skip_reason(self, captured: CapturedGraph, compiled: CompiledRung) -> str | None:
        """Why this rung gets no graph; None when its first call will try."""
        sequence = self._sequence(compiled)
        if sequence is None or self._runs_eagerly is None:
            reason = skip_reason(captured, compiled, self._recorder.device_type)
            return reason and f"{self._not_split(compiled)}{reason}"
        between = Between(self._runs_eagerly, sequence.passed)
        return skip_reason(captured, compiled, self._recorder.device_type, between)

    def wrap(
        self, entry: int, label: str, captured: CapturedGraph, compiled: CompiledRung, artifact: Artifact
    ) -> Artifact:
        """``artifact`` behind a graph that its first call records; itself, reported, where none is safe."""
        reason = self.skip_reason(captured, compiled)
        if reason is not None:
            self._skipped.append(GraphLine(entry, label, reason))
            self._report(GraphSkipped(self._backend, entry, label, reason))
            return artifact
        make = self._trained if is_trained(captured, compiled) else self._replayed
        graphed = make(entry, label, captured, compiled, artifact)
        graphed.note = self._not_split(compiled).removesuffix("; ")
        self._graphed.append((entry, captured.state, graphed))
        return graphed

    def _replayed(
        self, entry: int, label: str, captured: CapturedGraph, compiled: CompiledRung, artifact: Artifact
    ) -> GraphedArtifact:
        sequence = self._sequence(compiled)
        passed = frozenset() if sequence is None else sequence.passed
        graphed = GraphedArtifact(
            label,
            artifact,
            BufferPlan.of(captured.inputs, compiled.world.arguments, passed),
            self._device(compiled),
            self._buffers,
            self._session,
            self._reporter(entry),
            [each.position for each in mutated_inputs(captured, compiled)],
            sequence,
            self._slots,
        )
        graphed.clones = is_beside_training(captured)
        return graphed

    def _trained(
        self, entry: int, label: str, captured: CapturedGraph, compiled: CompiledRung, artifact: Artifact
    ) -> GraphedTraining:
        halves = forward_and_backward(compiled.notes.halves)
        assert halves is not None
        if entry not in self._training:
            self._training[entry] = TrainingSession(self._make_recorder, self._session.is_warming)
        return GraphedTraining(
            label,
            artifact,
            halves,
            compiled.metadata.num_forward,
            BufferPlan.of(captured.inputs, compiled.world.arguments).kept,
            [each.position for each in mutated_inputs(captured, compiled)],
            self._device(compiled),
            self._training[entry],
            self._reporter(entry),
        )

    def _device(self, compiled: CompiledRung) -> torch.device:
        tensors = [each for each in compiled.world.arguments if isinstance(each, torch.Tensor)]
        return next(each.device for each in tensors if each.device.type == self._recorder.device_type)

    def begin(self) -> None:
        """Call where the model is called from outside: outputs of earlier calls are not needed any more."""
        self._session.begin()

    def is_pending(self) -> bool:
        """Whether a rung made for the thread's present state (grad mode, autocast) is not recorded yet."""
        now = GlobalState.now()
        return any(
            state == now and not each.recorded and each.given_up is None for _, state, each in self._graphed
        )

    def tuning(self) -> AbstractContextManager[None]:
        """Within it calls run the artifacts: a shared one is tuned by its first call, not by the largest."""
        return self._session.tuning()

    def warming(self) -> AbstractContextManager[None]:
        """Within it calls record; what they return is cloned, and they make nobody the owner."""
        return self._session.warming()

    def clear(self) -> None:
        """Forget the recordings: their memory is given back once nobody holds their outputs."""
        self._recorder.forget_pool()
        self._training.clear()
        self._session.handed_out.clear()
        self._graphed.clear()
        self._skipped.clear()
        self._buffers = StaticBuffers()
        self._slots = Slots()

    def report(self) -> GraphReport:
        lines = [
            GraphLine(
                entry,
                each.label,
                each.given_up,
                each.recorded,
                each.replays,
                each.copied_bytes,
                tuple(each.run_plainly.items()),
                each.graphs,
                each.note,
                each.backward_replays if isinstance(each, GraphedTraining) else None,
            )
            for entry, _, each in self._graphed
        ]
        buffer_bytes = self._buffers.size_bytes + self._slots.size_bytes
        buffer_bytes += sum(session.buffer_bytes for session in self._training.values())
        return GraphReport((*lines, *self._skipped), self._pool_bytes(), buffer_bytes)

    def _pool_bytes(self) -> int:
        return self._recorder.pool_bytes() + sum(each.pool_bytes for each in self._training.values())

    def __str__(self) -> str:
        return str(self.report())

    def _sequence(self, compiled: CompiledRung) -> PieceSequence | None:
        return None if self._runs_eagerly is None else compiled.notes.sequence

    def _not_split(self, compiled: CompiledRung) -> str:
        """Why the rung is recorded whole, where pieces were asked for; else nothing."""
        if self._runs_eagerly is None or compiled.notes.sequence is not None:
            return ""
        return f"not split: {compiled.notes.not_split or 'its outputs are nested'}; "

    def _reporter(self, entry: int) -> Callable[[Any, Recording | None, str | None], None]:
        def report(graphed: Any, recording: Recording | None, reason: str | None) -> None:
            event: Any
            if recording is None:
                event = GraphSkipped(self._backend, entry, graphed.label, reason or "")
            else:
                event = GraphRecorded(
                    self._backend,
                    entry,
                    graphed.label,
                    recording.wall_s,
                    graphed.copied_bytes,
                    self._pool_bytes(),
                    recording.graphs,
                    recording.of_backward,
                )
            self._report(event)

        return report
