"""Compile every rung of every graph that was captured, before the first request."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from compilescope.bucketing.backend import BucketedBackend
from compilescope.bucketing.capture import Call
from compilescope.bucketing.entry import Entry
from compilescope.bucketing.plan import Job
from compilescope.ladder import JointRung, Pin
from compilescope.observer import EntryCaptured

_log = logging.getLogger(__name__)

_NO_GRAPH = (
    "Dynamo makes no graph of the model in the state '%s', so calls in it run eagerly: it has stopped "
    "compiling this code, after %d recompiles that calls made it do or after an error while it traced. "
    "TORCH_LOGS=recompiles,graph_breaks says which; after torch._dynamo.reset() a warm-up of every state "
    "before the first call starts anew"
)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What a warm-up did: rungs it compiled, failed to compile and was refused, and the seconds it took.

    ``without_graph`` are states that it prepared nothing for: calls in them run eagerly.
    """

    compiled: int
    failed: int
    refused: int
    wall_s: float
    without_graph: tuple[str, ...] = ()

    def __str__(self) -> str:
        rungs = f"{self.compiled} compiled, {self.failed} failed, {self.refused} refused"
        missing = f"; no graph in: {'; '.join(self.without_graph)}" if self.without_graph else ""
        return f"{rungs} in {self.wall_s:.1f} s{missing}"


def warn_without_graphs(backend: BucketedBackend, target: Any, states: Sequence[str]) -> None:
    """Dynamo says nothing where it leaves a whole model to Python, as it does with recurrent layers."""
    if any(isinstance(event, EntryCaptured) for event in backend.events()):
        for state in states:
            _log.warning(_NO_GRAPH, state, torch._dynamo.config.recompile_limit)
        return
    modules = target.modules() if isinstance(target, torch.nn.Module) else ()
    is_recurrent = any(isinstance(each, torch.nn.RNNBase) for each in modules)
    why = (
        "it leaves LSTM, GRU and RNN alone unless torch._dynamo.config.allow_rnn = True"
        if is_recurrent and not torch._dynamo.config.allow_rnn
        else "TORCH_LOGS=graph_breaks says why"
    )
    _log.warning("Dynamo captured no graph, so the model runs eagerly and has no rungs: %s", why)


def build(backend: BucketedBackend, before_job: Callable[[Entry, Job], None] | None = None) -> None:
    """Compile what is pending. Whatever happens, what has been built serves calls afterwards."""
    try:
        for entry in backend.entries:
            entry.build(before_job)
    finally:
        backend.arm()


def record_graphs(backend: BucketedBackend, call: Call, sizes: Mapping[str, int]) -> None:
    """Run the model at every static rung, largest first: its CUDA graphs are recorded, the buffers sized.

    With gradients its backward runs as well, on zeros, and leaves every ``grad`` as it is.
    """
    graphs = backend.graphs
    if graphs is None or not graphs.is_pending():
        return
    static = (*backend.ladder.exact(), *backend.ladder.pads())
    rungs = sorted(static, key=lambda each: -prod(rung.tuned_at for _, rung in each.steps))
    if graphs.share_code:
        typical = {name: ladder.typical for name, ladder in backend.ladder.ladders if ladder.typical}
        with graphs.tuning():
            call(dict(sizes) | typical)
    with graphs.warming():
        for joint in rungs:
            _differentiate(call(dict(sizes) | {name: rung.tuned_at for name, rung in joint.steps}))


def _differentiate(outputs: Any) -> None:
    """Run the backward of what a call returned, without adding to anybody's ``grad``.

    One that cannot be run like that, as behind a reentrant checkpoint, is left to the first that comes.
    """
    tensors = [
        each
        for each in torch.utils._pytree.tree_leaves(outputs)
        if isinstance(each, torch.Tensor) and each.requires_grad
    ]
    leaves = _leaves(tensors)
    if torch.is_grad_enabled() and leaves:
        zeros = [torch.zeros_like(each) for each in tensors]
        try:
            torch.autograd.grad(tensors, leaves, zeros, allow_unused=True)
        except Exception as refused:
            text = f"{type(refused).__name__}: {refused}"
            _log.info("the backward cannot be run to warm up, its first call records it: %s", text)


def _leaves(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """What gradients of ``tensors`` would be added to."""
    waiting: list[Any] = [each.grad_fn for each in tensors if each.grad_fn is not None]
    seen: set[Any] = set(waiting)
    found = []
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            found.append(node.variable)
        more = {following for following, _ in node.next_functions if following is not None} - seen
        seen |= more
        waiting += more
    return found


def compare_padded(backend: BucketedBackend, call: Call, sizes: Mapping[str, int]) -> None:
    """Compare each pad with the unpadded graph: a row short of it, at half, a row above the pad below."""
    if not backend.verifies:
        return
    with backend.comparing():
        for joint in backend.ladder.pads():
            for some in _padded_sizes(backend, joint):
                call(dict(sizes) | some)


def _padded_sizes(backend: BucketedBackend, joint: JointRung) -> list[dict[str, int]]:
    """From the largest size that the pad serves down to the smallest."""
    ladders = dict(backend.ladder.ladders)
    found: list[dict[str, int]] = []
    for part in (1.0, 0.5, 0.0):
        some = {}
        for name, rung in joint.steps:
            below = max((pad.size for pad in ladders[name].pad_rungs if pad.size < rung.high), default=1)
            span = rung.high - 1 - (below + 1)
            some[name] = rung.high if isinstance(rung, Pin) else max(2, below + 1 + int(part * span))
        if some not in found:
            found.append(some)
    return found


class Progress:
    """A line on stderr that counts rungs; silent when stderr is no terminal."""

    def __init__(self, backend: BucketedBackend, wanted: bool) -> None:
        self._backend = backend
        self._shown = wanted and sys.stderr.isatty()
        self._done = 0
        self._started = time.perf_counter()

    def __call__(self, entry: Entry, job: Job) -> None:
        if self._shown:
            total = self._done + sum(len(each.pending) for each in self._backend.entries)
            waited_s = time.perf_counter() - self._started
            text = (
                f"[{self._done + 1}/{total}] entry {entry.number}, {job.kind} {job.label}, {waited_s:.0f} s"
            )
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        self._done += 1

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
