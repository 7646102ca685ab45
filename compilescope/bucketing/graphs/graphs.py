"""The CUDA graphs of one backend."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from compilescope.bucketing.compile import CapturedGraph, CompiledRung
from compilescope.bucketing.graphs.artifact import GraphedArtifact
from compilescope.bucketing.graphs.buffers import BufferPlan, StaticBuffers
from compilescope.bucketing.graphs.recorder import CudaRecorder, Recorder, Recording
from compilescope.bucketing.graphs.report import GraphLine, GraphReport
from compilescope.bucketing.graphs.session import Session
from compilescope.bucketing.graphs.skip import mutated_inputs, skip_reason
from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.state import GlobalState
from compilescope.observer import Event, GraphRecorded, GraphSkipped


class CudaGraphs:
    """Wraps the artifacts of static rungs. Outputs are valid until the next call unless ``clone_outputs``.

    With ``share_code`` a static rung is the dynamic artifact recorded at its sizes, where it is valid there.
    """

    def __init__(
        self,
        backend: str,
        report: Callable[[Event], None],
        *,
        clone_outputs: bool = False,
        share_code: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self.share_code = share_code
        self._backend = backend
        self._report = report
        self._recorder: Recorder = CudaRecorder() if recorder is None else recorder
        self._session = Session(self._recorder, clone_outputs)
        self._buffers = StaticBuffers()
        self._graphed: list[tuple[int, GlobalState, GraphedArtifact]] = []
        self._skipped: list[GraphLine] = []

    def skip_reason(self, captured: CapturedGraph, compiled: CompiledRung) -> str | None:
        """Why this rung gets no graph; None when its first call will try."""
        return skip_reason(captured, compiled, self._recorder.device_type)

    def wrap(
        self, entry: int, label: str, captured: CapturedGraph, compiled: CompiledRung, artifact: Artifact
    ) -> Artifact:
        """``artifact`` behind a graph that its first call records; itself, reported, where none is safe."""
        reason = self.skip_reason(captured, compiled)
        if reason is not None:
            self._skipped.append(GraphLine(entry, label, reason))
            self._report(GraphSkipped(self._backend, entry, label, reason))
            return artifact
        plan = BufferPlan.of(captured.inputs, compiled.world.arguments)
        device = next(each.device for each in compiled.world.arguments if isinstance(each, torch.Tensor))
        mutated = [each.position for each in mutated_inputs(captured, compiled)]
        graphed = GraphedArtifact(
            label, artifact, plan, device, self._buffers, self._session, self._reporter(entry), mutated
        )
        self._graphed.append((entry, captured.state, graphed))
        return graphed

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
        self._graphed.clear()
        self._skipped.clear()
        self._buffers = StaticBuffers()

    def report(self) -> GraphReport:
        lines = [
            GraphLine(
                entry,
                each.label,
                each.given_up,
                each.recorded,
                each.replays,
                each.plan.copied_bytes,
                tuple(each.run_plainly.items()),
            )
            for entry, _, each in self._graphed
        ]
        return GraphReport((*lines, *self._skipped), self._recorder.pool_bytes(), self._buffers.size_bytes)

    def __str__(self) -> str:
        return str(self.report())

    def _reporter(self, entry: int) -> Callable[[GraphedArtifact, Recording | None, str | None], None]:
        def report(graphed: GraphedArtifact, recording: Recording | None, reason: str | None) -> None:
            event: Any
            if recording is None:
                event = GraphSkipped(self._backend, entry, graphed.label, reason or "")
            else:
                event = GraphRecorded(
                    self._backend,
                    entry,
                    graphed.label,
                    recording.wall_s,
                    graphed.plan.copied_bytes,
                    self._recorder.pool_bytes(),
                )
            self._report(event)

        return report
