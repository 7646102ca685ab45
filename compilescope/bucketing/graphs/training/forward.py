"""The forward of a rung: copy the inputs, replay, hand out results and what is saved for the backward."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from compilescope.bucketing.graphs.buffers import CopiedInput, address_reader
from compilescope.bucketing.graphs.recorder import Recording
from compilescope.bucketing.graphs.sets import MOVES, ParameterSets
from compilescope.bucketing.graphs.training.session import PENDING, Level
from compilescope.bucketing.graphs.training.values import (
    Holders,
    Make,
    address,
    alias,
    constant,
    copy,
    nothing_drawn,
    of_the_caller,
    refuse_generators,
)
from compilescope.bucketing.halves import Boxed

if TYPE_CHECKING:
    from compilescope.bucketing.graphs.training.backward import BackwardRecording
    from compilescope.bucketing.graphs.training.rung import GraphedTraining

_log = logging.getLogger(__name__)

Filled = Sequence[tuple[int, torch.Tensor]]
"""Positions of arguments, each with the static buffer it is copied to."""


@dataclass(eq=False, slots=True)
class ForwardRecording:
    """``saved`` are addresses of what its backward reads in the pool, ``kept`` those of parameters.

    Until the backward is recorded too, ``owners`` keep the memory of what is saved: what is captured
    meanwhile must not get it.
    """

    rung: GraphedTraining
    recording: Recording
    holders: Holders
    saved: frozenset[int | None]
    kept: frozenset[int | None]
    owners: Sequence[Any] | None
    backward: BackwardRecording | None = None

    def is_held(self) -> bool:
        return self.holders.any_else()


class GraphedForward:
    """Has the place of the compiled forward, ``compiled``, which serves whatever a replay may not."""

    def __init__(self, rung: GraphedTraining, compiled: Boxed, returned: int) -> None:
        self._rung = rung
        self._compiled = compiled
        self._returned = returned
        self._recordings: dict[Level, ParameterSets[ForwardRecording]] = {}
        self._kept: tuple[int, ...] | None = None
        self._addresses = address_reader(())
        self._views: Filled = ()

    def __call__(self, inputs: list[Any]) -> Sequence[Any]:
        rung, session = self._rung, self._rung.session
        with session.lock:
            reason = rung.given_up or session.refusal(rung.device)
            if reason is None:
                level = session.free_level()
                recording = PENDING if level is None else self._recording(level, inputs)
                if level is not None and isinstance(recording, ForwardRecording):
                    level.outstanding = recording
                    rung.replays += 1
                    outputs = recording.recording.replay(inputs)
                    inputs.clear()
                    return outputs
                reason = str(recording)
            rung.run_plainly[reason] += 1
        return self._compiled(inputs)

    def saving_nothing(self) -> Iterator[tuple[Level, ForwardRecording]]:
        """Recordings whose backwards can come at any time, where their memory is nobody's just now."""
        for level, recordings in self._recordings.items():
            for each in recordings:
                if not each.saved and not level.is_held():
                    yield level, each

    def _recording(self, level: Level, inputs: Sequence[Any]) -> ForwardRecording | str:
        """That of these parameters, a new one where there is none; or why there is none."""
        if self._kept is None:
            self._look_at(inputs)
        assert self._kept is not None
        addresses = self._addresses(inputs)
        recordings = self._recordings.setdefault(level, ParameterSets())
        found = recordings.find(addresses)
        if found is not None:
            return found
        reason = recordings.refusal()
        if reason == MOVES:
            self._give_up(reason)
        if reason is not None:
            return reason
        try:
            made = self._record(level, inputs)
        except Exception as error:
            level.recorder.forget_pool()
            return self._give_up(f"recording failed: {type(error).__name__}: {error}")
        recordings.add(addresses, [inputs[n] for n in self._kept], made)
        self._rung.recorded += 1
        self._rung.counted(made.recording)
        return made

    def _give_up(self, reason: str) -> str:
        _log.warning("rung %s trains without CUDA graphs: %s", self._rung.label, reason)
        self._rung.given_up = reason
        self._rung.tell(reason)
        return reason

    def _look_at(self, inputs: Sequence[Any]) -> None:
        """Which inputs stay where they are. AOTAutograd may have put them in another order than the call."""
        kept = self._rung.kept_addresses()
        tensors = [n for n, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
        self._kept = tuple(n for n in tensors if address(inputs[n]) in kept)
        self._addresses = address_reader(self._kept)
        self._views = views_of(inputs, set(tensors).difference(self._kept), self._rung.session.inputs)

    def _record(self, level: Level, inputs: Sequence[Any]) -> ForwardRecording:
        refuse_generators(inputs)
        rung, copied = self._rung, dict(self._views)
        fill(self._views, inputs)
        arguments = [copied.get(position, value) for position, value in enumerate(inputs)]
        written = [(tensor, tensor.clone()) for tensor in rung.mutated_tensors()]
        started = time.perf_counter()
        try:
            with nothing_drawn(rung.device), level.recorder.tape(rung.device) as tape:
                tape.rehearse(lambda: self._compiled(list(arguments)))
                replay, owned = tape.capture(lambda *a: self._compiled(list(a)), arguments)
                left = tape.left_to_the_pool(owned)
        finally:
            for tensor, before in written:
                tensor.copy_(before)
        makers, mine = self._makers(left, owned, arguments, copied)
        run = _replaying(replay, self._views, makers)
        wall_s = time.perf_counter() - started
        copied_bytes = sum(view.numel() * view.itemsize for view in copied.values())
        copied_bytes += sum(
            value.numel() * value.itemsize
            for value in left[: self._returned]
            if isinstance(value, torch.Tensor)
        )
        assert self._kept is not None
        return ForwardRecording(
            rung,
            Recording(run, int(replay is not None), wall_s, copied_bytes, frozenset()),
            Holders(mine),
            frozenset(map(address, mine)) - {None},
            frozenset(address(inputs[position]) for position in self._kept),
            owned,
        )

    def _makers(
        self,
        left: Sequence[Any],
        owned: Sequence[Any],
        arguments: Sequence[Any],
        copied: dict[int, torch.Tensor],
    ) -> tuple[list[Make], list[torch.Tensor]]:
        """What hands out each result, and those that lie in the recording's memory until the backward."""
        kept = {address(value) for n, value in enumerate(arguments) if n not in copied}
        makers: list[Make] = []
        mine: list[torch.Tensor] = []
        for number, (value, own) in enumerate(zip(left, owned, strict=True)):
            theirs = of_the_caller(own, arguments, copied)
            if theirs is not None:
                makers.append(theirs)
            elif not isinstance(value, torch.Tensor):
                makers.append(constant(value))
            elif number < self._returned:
                makers.append(copy(value))
            else:
                makers.append(alias(value))
                if address(value) not in kept:
                    mine.append(value)
        return makers, mine


def views_of(inputs: Sequence[Any], positions: set[int], buffers: Any) -> Filled:
    """The static buffer of each, laid out as the input is."""
    # Where its storage begins is the caller's affair: compiled code reads from its first element on.
    wanted = [
        replace(CopiedInput.like(inputs[position], f"input {position}", position), offset=0)
        for position in sorted(positions)
    ]
    return [(each.position, buffers.view(each)) for each in wanted]


def fill(views: Filled, inputs: Sequence[Any]) -> None:
    for position, view in views:
        view.copy_(inputs[position])


def _replaying(replay: Any, views: Filled, makers: Sequence[Make]) -> Any:
    def run(inputs: Sequence[Any]) -> list[Any]:
        fill(views, inputs)
        if replay is not None:
            replay()
        return [make(inputs) for make in makers]

    return run
