"""The backward of a rung: read what the forward saved where it lies, replay, copy the gradients out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from compilescope.bucketing.graphs.buffers import overlaps_itself
from compilescope.bucketing.graphs.recorder import Recording
from compilescope.bucketing.graphs.training.forward import ForwardRecording, fill, views_of
from compilescope.bucketing.graphs.training.session import Level
from compilescope.bucketing.graphs.training.values import (
    Make,
    address,
    apart,
    constant,
    copies,
    nothing_drawn,
    of_the_caller,
    refuse_generators,
)
from compilescope.bucketing.halves import Boxed

if TYPE_CHECKING:
    from compilescope.bucketing.graphs.training.rung import GraphedTraining

_log = logging.getLogger(__name__)

NOT_REPLAYED = "backward: its forward was not replayed, or what it saved was moved"


@dataclass(frozen=True, slots=True)
class BackwardRecording:
    """``fits`` tells whether inputs lie where it reads them and are otherwise those it was recorded with."""

    recording: Recording
    fits: Callable[[Sequence[Any]], bool]


class GraphedBackward:
    """Has the place of the compiled backward. Autograd may call it from a thread of its own."""

    def __init__(self, rung: GraphedTraining, compiled: Boxed) -> None:
        self._rung = rung
        self._compiled = compiled

    def __call__(self, inputs: list[Any]) -> Sequence[Any]:
        rung, session = self._rung, self._rung.session
        with session.lock:
            reason = rung.backward_given_up or session.refusal(rung.device)
            recording = self._recording(inputs) if reason is None else None
            if recording is not None:
                rung.backward_replays += 1
                gradients = recording.recording.replay(inputs)
                inputs.clear()
                return gradients
            rung.run_plainly[reason or rung.backward_given_up or NOT_REPLAYED] += 1
        return self._compiled(inputs)

    def _recording(self, inputs: Sequence[Any]) -> BackwardRecording | None:
        """The one behind the forward that saved these, on whatever level it was; None when none did."""
        here: set[int | None] | None = None
        for level, forward in self._rung.may_follow():
            if forward.backward is not None:
                if forward.backward.fits(inputs):
                    return forward.backward
            elif forward.owners is not None:
                here = {address(value) for value in inputs} if here is None else here
                # Hooks on saved tensors may have moved some of them.
                if forward.saved <= here:
                    return self._new(level, forward, inputs)
        return None

    def _new(
        self, level: Level, forward: ForwardRecording, inputs: Sequence[Any]
    ) -> BackwardRecording | None:
        rung = self._rung
        try:
            forward.backward = self._record(level, forward, inputs)
        except Exception as error:
            rung.backward_given_up = f"backward: recording failed: {type(error).__name__}: {error}"
            _log.warning("rung %s: no CUDA graph of its %s", rung.label, rung.backward_given_up)
            level.recorder.forget_pool()
            rung.tell(rung.backward_given_up)
        else:
            rung.counted(forward.backward.recording)
        forward.owners = None
        return forward.backward

    def _record(self, level: Level, forward: ForwardRecording, inputs: Sequence[Any]) -> BackwardRecording:
        refuse_generators(inputs)
        session, rung = self._rung.session, self._rung
        tensors = {n for n, value in enumerate(inputs) if isinstance(value, torch.Tensor)}
        saved = {n for n in tensors if address(inputs[n]) in forward.saved}
        stay = sorted(n for n in tensors if n in saved or address(inputs[n]) in forward.kept)
        moving = tensors.difference(stay)
        for n in moving:
            if overlaps_itself(inputs[n]):
                raise RuntimeError(f"input {n} of the backward overlaps itself: it cannot be copied")
        views = views_of(inputs, moving, session.tangents)
        copied = dict(views)
        fill(views, inputs)
        arguments = [copied.get(n, value) for n, value in enumerate(inputs)]
        started = time.perf_counter()
        with nothing_drawn(rung.device), level.recorder.tape(rung.device) as tape:
            # Compiled code may reuse the memory of what was saved: a run before the recording has its own.
            tape.rehearse(lambda: self._compiled(apart(arguments, saved)))
            replay, owned = tape.capture(lambda *a: self._compiled(list(a)), arguments)
            left = tape.left_to_the_pool(owned)
        # What was saved lies in the graphs' memory: as a gradient it would hold up every later call.
        theirs = [None if n in saved else value for n, value in enumerate(arguments)]
        makers, results = _makers(left, owned, theirs, copied)
        wall_s = time.perf_counter() - started
        moved = [*copied.values(), *results]
        copied_bytes = sum(value.numel() * value.itemsize for value in moved)
        copy_results = copies(results)

        def run(inputs: Sequence[Any]) -> list[Any]:
            fill(views, inputs)
            if replay is not None:
                replay()
            fresh = iter(copy_results())
            return [next(fresh) if make is None else make(inputs) for make in makers]

        recording = Recording(
            run, int(replay is not None), wall_s, copied_bytes, frozenset(), of_backward=True
        )
        by_saved = sorted(stay, key=lambda n: n not in saved)
        return BackwardRecording(recording, _fitting(inputs, by_saved, set(range(len(inputs))) - tensors))


def _makers(
    left: Sequence[Any], owned: Sequence[Any], arguments: Sequence[Any], copied: dict[int, torch.Tensor]
) -> tuple[list[Make | None], list[torch.Tensor]]:
    """None for each gradient that is copied out of the graphs' memory, and those gradients."""
    makers: list[Make | None] = []
    results = []
    for value, own in zip(left, owned, strict=True):
        theirs = of_the_caller(own, arguments, copied)
        if theirs is not None or not isinstance(value, torch.Tensor):
            makers.append(theirs or constant(value))
        else:
            makers.append(None)
            results.append(value)
    return makers, results


def _fitting(
    inputs: Sequence[Any], stay: Sequence[int], others: Collection[int]
) -> Callable[[Sequence[Any]], bool]:
    """Whether tensors at ``stay`` have the addresses they have here, and ``others`` these values.

    Generated, and done at the first that differs: there may be as many recordings as a model has layers.
    """
    terms = [f"a[{n}].data_ptr() == {inputs[n].data_ptr()}" for n in stay]
    terms += [f"a[{n}] == others[{n}]" for n in others]
    scope = {"others": {n: inputs[n] for n in others}}
    return eval(f"lambda a: {' and '.join(terms) or True}", scope)  # type: ignore[no-any-return]
