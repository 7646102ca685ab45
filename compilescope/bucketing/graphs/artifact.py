"""A rung's artifact behind a CUDA graph: copy the inputs, replay, hand out the outputs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compilescope.bucketing.graphs.buffers import BufferPlan, StaticBuffers
from compilescope.bucketing.graphs.deferred import DeferredPad, deferred_pad, made
from compilescope.bucketing.graphs.recorder import Recording
from compilescope.bucketing.graphs.session import Session
from compilescope.bucketing.inner import Artifact

_log = logging.getLogger(__name__)

ADDRESS_SETS = 8
"""Recordings kept for one rung: layers that share code come with parameters of their own."""

RECORDINGS = 32
"""How often one rung is recorded before it is given up: its parameters move with every call."""

Report = Callable[["GraphedArtifact", Recording | None, str | None], None]


class GraphedArtifact:
    """Called like the artifact it wraps, which serves whatever a replay may not.

    An argument may come from ``deferred_pad``, which has the place of ``torch.nn.functional.pad``.
    ``mutated`` are positions of kept inputs that the graph writes: runs before the recording must not show.
    """

    deferred_pad = staticmethod(deferred_pad)

    def __init__(
        self,
        label: str,
        artifact: Artifact,
        plan: BufferPlan,
        device: torch.device,
        buffers: StaticBuffers,
        session: Session,
        report: Report,
        mutated: Sequence[int] = (),
    ) -> None:
        self.label = label
        self.plan = plan
        self.clones = False
        self.given_up: str | None = None
        self.replays = 0
        self.recorded = 0
        self.run_plainly: Counter[str] = Counter()
        self._artifact = artifact
        self._device = device
        self._buffers = buffers
        self._session = session
        self._report = report
        self._mutated = tuple(mutated)
        self._views: list[tuple[int, torch.Tensor]] | None = None
        self._recordings: dict[tuple[int, ...], Recording] = {}
        self._addresses = _address_reader(plan.kept)

    def __call__(self, *a: Any) -> Any:
        with self._session.lock:
            reason = self.given_up or self._session.refusal(self._device)
            if reason is None:
                outputs = self._replayed(a)
                if outputs is not None:
                    return outputs
                reason = self.given_up or "not recorded"
            self.run_plainly[reason] += 1
        return self._artifact(*map(made, a))

    def _replayed(self, a: tuple[Any, ...]) -> list[Any] | None:
        addresses = self._addresses(a)
        recording = self._recordings.get(addresses)
        if recording is None:
            recording = self._record(a, addresses)
            if recording is None:
                return None
        else:
            self._fill(a)
        recording.replay()
        self.replays += 1
        hand_out = _clone if self._session.must_clone(self) else _alias
        return [hand_out(each) if isinstance(each, torch.Tensor) else each for each in recording.outputs]

    def _record(self, a: tuple[Any, ...], addresses: tuple[int, ...]) -> Recording | None:
        if self.recorded >= RECORDINGS:
            self.given_up = f"its parameters had {RECORDINGS} different addresses"
            self._report(self, None, self.given_up)
            return None
        if len(self._recordings) >= ADDRESS_SETS:
            del self._recordings[next(iter(self._recordings))]
        try:
            recording = self._recorded_on(a)
        except Exception as error:
            self.given_up = f"recording failed: {type(error).__name__}: {error}"
            _log.warning("rung %s runs without a CUDA graph: %s", self.label, self.given_up)
            self._session.recorder.forget_pool()
            self._report(self, None, self.given_up)
            return None
        self._recordings[addresses] = recording
        self.recorded += 1
        self._report(self, recording, None)
        return recording

    def _recorded_on(self, a: tuple[Any, ...]) -> Recording:
        if self._views is None:
            self._views = [(each.position, self._buffers.view(each)) for each in self.plan.copied]
        self._fill(a)
        arguments = list(a)
        for position, view in self._views:
            arguments[position] = view
        written = [(a[position], a[position].clone()) for position in self._mutated]
        try:
            return self._session.recorder.record(lambda: self._artifact(*arguments), self._device)
        finally:
            for tensor, before in written:
                tensor.copy_(before)

    def _fill(self, a: tuple[Any, ...]) -> None:
        assert self._views is not None
        for position, view in self._views:
            given = a[position]
            if isinstance(given, DeferredPad):
                given.copy_to(view)
            else:
                view.copy_(given)


def _address_reader(kept: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[int, ...]]:
    """Generated: a model has hundreds of parameters, and a call should look at each for some 50 ns."""
    reads = "".join(f"a[{position}].data_ptr(), " for position in kept)
    return eval(f"lambda a: ({reads})")  # type: ignore[no-any-return]


def _alias(output: torch.Tensor) -> torch.Tensor:
    """A tensor of its own on the same memory: attributes a caller sets must not be there on the next call."""
    return output.detach()


def _clone(output: torch.Tensor) -> torch.Tensor:
    return output.detach().clone()
