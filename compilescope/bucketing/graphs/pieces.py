"""Recording a split rung: a graph for each compiled piece, operators between them run on each replay.

A value that a compiled piece reads has one address for all replays: it is a copied or kept input, lies in
the graphs' pool, or is an operator's result copied into a slot. Any other is handed on as it comes. A value
dies in the recording where it dies in the split graph's own code, and what is captured later may have its
memory: on replay the same order makes that right again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from compilescope.bucketing.graphs.buffers import CopiedInput, Slots, overlaps_itself
from compilescope.bucketing.graphs.deferred import made
from compilescope.bucketing.graphs.recorder import Tape
from compilescope.bucketing.piecewise.sequence import PieceSequence, Step

Replay = Callable[[Sequence[Any]], Sequence[Any]]
_Replayed = Callable[[list[Any]], None]


class PieceRecording:
    """``arguments`` are those of a call, at the positions ``copied`` replaced by their static buffers.

    Parameters and what only operators read come with each call: nothing here keeps them.
    """

    def __init__(
        self,
        tape: Tape,
        sequence: PieceSequence,
        arguments: Sequence[Any],
        copied: Collection[int],
        slots: Slots,
    ) -> None:
        self.graphs = 0
        self.copied_bytes = 0
        self._tape = tape
        self._sequence = sequence
        self._slots = slots
        self._reads = sequence.compiled_reads
        self._values: dict[int, Any] = dict(enumerate(arguments)) | dict(sequence.constants)
        self._static = set(self._values) - sequence.passed
        self._pooled: set[int] = set()
        self._given = frozenset(range(sequence.arity)).difference(copied)
        self._fixed: dict[int, Any] = {}
        self._steps: list[_Replayed] = []

    def record(self) -> Replay:
        """Capture or run each step, in order. Raises what a step raises."""
        for step in self._sequence.steps:
            if step.runs_eagerly:
                self._run(step)
            else:
                self._capture(step)
            for number in step.dead:
                del self._values[number]
        self._fix(self._sequence.outputs)
        return self._replay()

    @property
    def written(self) -> frozenset[int]:
        """Addresses of the storages of outputs that every replay writes to."""
        outputs = [self._fixed[number] for number in self._sequence.outputs if number in self._fixed]
        return addresses_of(outputs)

    def _capture(self, step: Step) -> None:
        arguments = [self._values[number] for number in step.inputs]
        replay, outputs = self._tape.capture(step.function, arguments)
        if replay is not None:
            replay()
            self._steps.append(_graph_step(replay))
            self.graphs += 1
        self._values |= zip(step.outputs, outputs, strict=True)
        self._static.update(step.outputs)
        self._pooled.update(step.outputs)

    def _run(self, step: Step) -> None:
        self._fix(step.inputs)
        arguments = [self._values[number] for number in step.inputs]
        static = {_storage(self._values[number]) for number in step.inputs if number in self._static} - {None}
        results = step.function(*arguments)
        targets: list[tuple[int, torch.Tensor | None] | None] = []
        for number, result, is_view in zip(step.outputs, results, step.views, strict=True):
            self._values[number] = result
            if is_view and _storage(result) in static:
                self._static.add(number)
                self._pooled.add(number)
                targets.append(None)
            elif number in self._reads and isinstance(result, torch.Tensor):
                slot = self._slot(step, result)
                self._values[number] = slot
                self._static.add(number)
                targets.append((number, slot))
            else:
                targets.append((number, None))
        forgotten = [number for number in step.dead if number not in self._static]
        self._steps.append(_eager_step(step, targets, forgotten))

    def _slot(self, step: Step, result: torch.Tensor) -> torch.Tensor:
        if type(result) is not torch.Tensor or result.layout != torch.strided or overlaps_itself(result):
            raise RuntimeError(f"the result of {step.name} cannot be copied to a static buffer")
        wanted = CopiedInput.like(result, step.name)
        taken = {_storage(value) for value in self._values.values()}
        slot = self._slots.take(wanted, taken)
        slot.copy_(result)
        self.copied_bytes += wanted.size_bytes
        return slot

    def _fix(self, numbers: Sequence[int]) -> None:
        """What replays find under ``numbers``: the same memory, without a hold on it."""
        pooled = [number for number in numbers if number in self._pooled]
        left = self._tape.left_to_the_pool([self._values[number] for number in pooled])
        self._fixed |= {n: self._values[n] for n in numbers if n in self._static and n not in self._given}
        self._fixed |= zip(pooled, left, strict=True)

    def _replay(self) -> Replay:
        made_here = (number for step in self._sequence.steps for number in step.outputs)
        count = 1 + max((*self._fixed, *self._values, *made_here))
        fixed = [self._fixed.get(number) for number in range(count)]
        steps, outputs = tuple(self._steps), self._sequence.outputs
        eager = {number for step in self._sequence.steps if step.runs_eagerly for number in step.inputs}
        given = tuple(sorted(self._given & eager.union(outputs)))

        def replay(arguments: Sequence[Any]) -> Sequence[Any]:
            values = fixed.copy()
            for position in given:
                values[position] = made(arguments[position])
            for step in steps:
                step(values)
            return [values[number] for number in outputs]

        return replay


def _graph_step(replay: Callable[[], None]) -> _Replayed:
    return lambda _: replay()


def _eager_step(
    step: Step, targets: Sequence[tuple[int, torch.Tensor | None] | None], forgotten: Sequence[int]
) -> _Replayed:
    function, inputs = step.function, step.inputs

    def run(values: list[Any]) -> None:
        results = function(*[values[number] for number in inputs])
        for target, result in zip(targets, results, strict=True):
            if target is None:
                continue
            number, slot = target
            if slot is None:
                values[number] = result
            else:
                slot.copy_(result)
        for number in forgotten:
            values[number] = None

    return run


def addresses_of(values: Sequence[Any]) -> frozenset[int]:
    """Of the storages of the tensors among ``values``."""
    return frozenset(
        value.untyped_storage().data_ptr() for value in values if isinstance(value, torch.Tensor)
    )


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return value.untyped_storage()._cdata  # type: ignore[no-any-return]
