"""A rung's artifact behind a CUDA graph: copy the inputs, replay, hand out the outputs."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compilescope.bucketing.graphs.buffers import BufferPlan, Slots, StaticBuffers, address_reader
from compilescope.bucketing.graphs.deferred import DeferredPad, deferred_pad, made
from compilescope.bucketing.graphs.outputs import copy_of
from compilescope.bucketing.graphs.pieces import PieceRecording, Replay, addresses_of
from compilescope.bucketing.graphs.recorder import Recording, Tape
from compilescope.bucketing.graphs.session import Session
from compilescope.bucketing.graphs.sets import MOVES, ParameterSets
from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.piecewise.sequence import PieceSequence

_log = logging.getLogger(__name__)

WRITES_WHAT_IS_COPIED = "an input that is written shares its memory with one that is copied"
WRITES_OUTPUT = "an input that is written is an output of an earlier call, in the graphs' memory"

Report = Callable[["GraphedArtifact", Recording | None, str | None], None]


class GraphedArtifact:
    """Called like the artifact it wraps, which serves whatever a replay may not.

    An argument may come from ``deferred_pad``, which has the place of ``torch.nn.functional.pad``.
    ``mutated`` are positions of inputs that the graph writes where they are: runs before the recording must
    not show. With ``sequence`` its pieces are recorded, and results of operators copied into ``slots``.
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
        sequence: PieceSequence | None = None,
        slots: Slots | None = None,
    ) -> None:
        self.label = label
        self.plan = plan
        self.note = ""
        self.clones = False
        self.given_up: str | None = None
        self.replays = 0
        self.recorded = 0
        self.graphs = 0
        self.copied_bytes = plan.copied_bytes
        self.run_plainly: Counter[str] = Counter()
        self._artifact = artifact
        self._device = device
        self._buffers = buffers
        self._session = session
        self._report = report
        self._mutated = tuple(mutated)
        self._sequence = sequence
        self._slots = Slots() if slots is None else slots
        self._handed_on = () if sequence is None else tuple(sequence.passed)
        self._written = tuple(each for each in mutated if each in self._handed_on)
        self._views: list[tuple[int, torch.Tensor]] | None = None
        self._recordings: ParameterSets[Recording] = ParameterSets()
        self._addresses = address_reader(plan.kept)

    def __call__(self, *a: Any) -> Any:
        with self._session.lock:
            reason = self.given_up or self._session.refusal(self._device) or self._shared_memory(a)
            if reason is None:
                outputs = self._replayed(a)
                if not isinstance(outputs, str):
                    return outputs
                reason = outputs
            self.run_plainly[reason] += 1
        return self._artifact(*map(made, a))

    def _shared_memory(self, a: tuple[Any, ...]) -> str | None:
        """The copy of an input would not show what an operator writes into another input on its memory."""
        if not self._written:
            return None
        written = {_storage_of(a[position]) for position in self._written}
        if written & self._session.handed_out:
            return WRITES_OUTPUT
        if any(_storage_of(a[each.position]) in written for each in self.plan.copied):
            return WRITES_WHAT_IS_COPIED
        return None

    def _apart(self, a: tuple[Any, ...]) -> tuple[Any, ...]:
        """Outputs of earlier calls that are handed on would be written over before an operator reads them."""
        inside = {each for each in self._handed_on if _storage_of(a[each]) in self._session.handed_out}
        if not inside:
            return a
        return tuple(made(value).clone() if each in inside else value for each, value in enumerate(a))

    def _replayed(self, a: tuple[Any, ...]) -> list[Any] | str:
        """Outputs, or why there is no recording."""
        a = self._apart(a)
        addresses = self._addresses(a)
        found: Recording | str | None = self._recordings.find(addresses)
        if found is not None:
            self._fill(a)
        else:
            found = self._record(a, addresses)
        if isinstance(found, str):
            return found
        outputs = found.replay(a)
        self.replays += 1
        hand_out = copy_of if self._session.must_clone(self) else _alias
        return [hand_out(each) if isinstance(each, torch.Tensor) else each for each in outputs]

    def _give_up(self, reason: str) -> str:
        self.given_up = reason
        _log.warning("rung %s runs without a CUDA graph: %s", self.label, reason)
        self._report(self, None, reason)
        return reason

    def _record(self, a: tuple[Any, ...], addresses: tuple[int, ...]) -> Recording | str:
        """A recording for parameters at these addresses, or why there is none."""
        reason = self._recordings.refusal()
        if reason is not None:
            return self._give_up(reason) if reason == MOVES else reason
        try:
            recording = self._recorded_on(a)
        except Exception as error:
            self._session.recorder.forget_pool()
            return self._give_up(f"recording failed: {type(error).__name__}: {error}")
        self._recordings.add(addresses, [a[position] for position in self.plan.kept], recording)
        self.recorded += 1
        self.graphs += recording.graphs
        self.copied_bytes = self.plan.copied_bytes + recording.copied_bytes
        self._report(self, recording, None)
        return recording

    def _recorded_on(self, a: tuple[Any, ...]) -> Recording:
        if self._views is None:
            self._views = [(each.position, self._buffers.view(each)) for each in self.plan.copied]
        self._fill(a)
        views = dict(self._views)
        arguments = [
            views[position] if position in views else made(value) for position, value in enumerate(a)
        ]
        written = [(arguments[position], arguments[position].clone()) for position in self._mutated]
        started = time.perf_counter()
        try:
            with self._session.recorder.tape(self._device) as tape:
                tape.rehearse(lambda: self._artifact(*arguments))
                recording = self._captured(tape, arguments, started)
        finally:
            for tensor, before in written:
                tensor.copy_(before)
        self._session.handed_out |= recording.written
        return recording

    def _captured(self, tape: Tape, arguments: Sequence[Any], started: float) -> Recording:
        if self._sequence is not None:
            copied = {each.position for each in self.plan.copied}
            pieces = PieceRecording(tape, self._sequence, arguments, copied, self._slots)
            run, wall_s = pieces.record(), time.perf_counter() - started
            return Recording(run, pieces.graphs, wall_s, pieces.copied_bytes, pieces.written)
        replay, owned = tape.capture(self._artifact, arguments)
        outputs, wall_s = tape.left_to_the_pool(owned), time.perf_counter() - started
        return Recording(_whole(replay, outputs), int(replay is not None), wall_s, 0, addresses_of(outputs))

    def _fill(self, a: tuple[Any, ...]) -> None:
        assert self._views is not None
        for position, view in self._views:
            given = a[position]
            if isinstance(given, DeferredPad):
                given.copy_to(view)
            else:
                view.copy_(given)


def _whole(replay: Callable[[], None] | None, outputs: Sequence[Any]) -> Replay:
    def replayed(_arguments: Sequence[Any]) -> Sequence[Any]:
        if replay is not None:
            replay()
        return outputs

    return replayed


def _storage_of(value: Any) -> int | None:
    value = value.tensor if isinstance(value, DeferredPad) else value
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else None


def _alias(output: torch.Tensor) -> torch.Tensor:
    """A tensor of its own on the same memory: attributes a caller sets must not be there on the next call."""
    return output.detach()
