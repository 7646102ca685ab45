"""Times one captured graph at chosen sizes: an artifact per size, and the dynamic one at all of them.

Samples of both are taken by turns, size by size, so that a machine that slows down meanwhile slows all alike.
On a CUDA device a call is replayed from a CUDA graph where one can be captured: device time, no launches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from compilescope.bucketing._torch import expression, hint_of
from compilescope.bucketing.compile import CapturedGraph, compile_rung
from compilescope.bucketing.inner import InnerCompiler

ROUNDS = 15
_SAMPLE_S = 4e-3  # calls of one sample take at least this long together
_MOST_CALLS = 2000
_WARM_UP = 3
_US = 1e6

Sizes = tuple[int, ...]


@dataclass(slots=True)
class Timed:
    """One artifact at one size. ``samples_us`` are means of a few calls each; ``problem`` says why none."""

    sizes: Sizes
    compile_s: float | None = None
    capture_s: float | None = None
    memory_bytes: int | None = None
    samples_us: list[float] = field(default_factory=list)
    problem: str | None = None


@dataclass(slots=True)
class Measured:
    """``basis``: "calls" by the wall clock, "events" around calls, "graph replay" on a device."""

    device: str
    basis: str
    backward: bool
    static: list[Timed]
    dynamic: list[Timed]
    hint: Sizes


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that can be repeated, and how to take its time over ``n`` calls."""

    record: Timed
    call: Callable[[], object]
    clock: Callable[[Callable[[], object], int], float]
    calls: int


def measure(
    captured: CapturedGraph,
    compiler: InnerCompiler,
    examples: Sequence[Any],
    symbols: Sequence[Any],
    sizes: Sequence[Sizes],
    hint: Sizes,
    *,
    rounds: int = ROUNDS,
    budget_s: float = 600.0,
    seconds: Callable[[], float] = time.perf_counter,
) -> Measured:
    """``symbols`` are those of the graph that ``sizes`` are of; ``examples`` the real inputs of the capture.

    Inputs of other sizes repeat the example's elements, so that indices stay valid. Sizes come most important
    first: after ``budget_s`` no further one is compiled. What cannot be compiled or run is named in its row.
    ``seconds`` is the clock where there is no device.
    """
    world = _World(captured, tuple(examples), tuple(symbols), partial(_clocked, seconds))
    deadline = time.monotonic() + budget_s
    with captured.state.restored():
        shared = Timed(hint)
        dynamic = _compiled(shared, partial(world.dynamic, compiler, hint))
        static: list[tuple[Timed, Any]] = []
        for number, each in enumerate(sizes):
            record = Timed(each)
            if number and time.monotonic() > deadline:
                record.problem = "not compiled: the time to measure was used up"
                static.append((record, None))
            else:
                static.append((record, _compiled(record, partial(world.static, compiler, each))))
        through = [(Timed(each, shared.compile_s, problem=shared.problem), dynamic) for each in sizes]
        device = world.device
        replays = device == "cuda"
        pairs = _prepared(world, static, through, replays)
        if replays and any(r.problem for pair in pairs for r in (pair[0][0], pair[1][0]) if r.compile_s):
            replays = False  # all by the same clock, or the two cannot be compared
            pairs = _prepared(world, static, through, replays)
        _sample([(a[1], b[1]) for a, b in pairs], rounds)
    basis = "graph replay" if replays else "events" if device == "cuda" else "calls"
    rows = [record for record, _ in static], [record for record, _ in through]
    return Measured(world.device_name, basis, world.has_backward, *rows, hint)


class _World:
    """The graph's inputs at any sizes, and what a call with them is."""

    def __init__(
        self,
        captured: CapturedGraph,
        examples: tuple[Any, ...],
        symbols: tuple[Any, ...],
        host_clock: Callable[[Callable[[], object], int], float],
    ) -> None:
        self._captured = captured
        self._examples = examples
        self._symbols = symbols
        self.has_backward = False
        tensors = [each for each in examples if isinstance(each, torch.Tensor)]
        self.device = next((t.device.type for t in tensors if t.device.type == "cuda"), "cpu")
        self.clock = _device_clock if self.device == "cuda" else host_clock
        self.device_name = torch.cuda.get_device_name() if self.device == "cuda" else "cpu"

    def static(self, compiler: InnerCompiler, sizes: Sizes) -> Any:
        return compile_rung(self._captured, compiler, dict(zip(self._symbols, sizes, strict=True)))

    def dynamic(self, compiler: InnerCompiler, hint: Sizes) -> Any:
        hints = dict(zip(self._symbols, hint, strict=True))
        spans: dict[Any, tuple[int, int | None]] = dict.fromkeys(self._symbols, (2, None))
        return compile_rung(self._captured, compiler, {}, hints, spans)

    def arguments(self, sizes: Sizes) -> list[Any]:
        """Fresh ones, except for parameters."""
        values: Mapping[Any, int] = dict(zip(self._symbols, sizes, strict=True))
        return [
            self._argument(each.value, example, values)
            for each, example in zip(self._captured.inputs, self._examples, strict=True)
        ]

    def _argument(self, traced: Any, example: Any, values: Mapping[Any, int]) -> Any:
        if isinstance(traced, torch.SymInt):
            return self._number(traced, values)
        if not isinstance(traced, torch.Tensor) or isinstance(example, torch.nn.Parameter):
            return example
        shape = [self._number(size, values) for size in traced.shape]
        stride = [self._number(step, values) for step in traced.stride()]
        made = torch.empty_strided(shape, stride, dtype=example.dtype, device=example.device)
        flat = example.detach().reshape(-1)
        if made.numel() and flat.numel():
            at = torch.arange(made.numel(), device=example.device) % flat.numel()
            made.copy_(flat[at].reshape(shape))
        return made.requires_grad_(example.requires_grad)

    def _number(self, value: Any, values: Mapping[Any, int]) -> int:
        term = expression(value)
        rest = {s: hint_of(self._captured.shape_env, s) for s in term.free_symbols if s not in values}
        return int(term.xreplace({**values, **rest}))

    def call(self, artifact: Callable[..., Any], sizes: Sizes) -> Callable[[], object]:
        """Forward, and backward where the capture asked for gradients; they reach no parameter's .grad."""
        arguments = self.arguments(sizes)
        wanted = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]

        def forward() -> Any:
            return artifact(*arguments)

        ends = [out for out in _tensors(forward()) if out.requires_grad]
        if not ends or not wanted:
            return forward
        self.has_backward = True

        def both() -> Any:
            outs = [out for out in _tensors(artifact(*arguments)) if out.requires_grad]
            return torch.autograd.grad(outs, wanted, [torch.ones_like(o) for o in outs], allow_unused=True)

        return both


def _tensors(outputs: Any) -> list[torch.Tensor]:
    values = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [value for value in values if isinstance(value, torch.Tensor)]


def _compiled(record: Timed, make: Callable[[], Any]) -> Any:
    """The artifact, or None and the reason in ``record``."""
    try:
        rung = make()
    except Exception as problem:
        record.problem = _said(problem)
        return None
    record.compile_s = rung.wall_s
    return rung.artifact


def _prepared(
    world: _World, static: Sequence[tuple[Timed, Any]], dynamic: Sequence[tuple[Timed, Any]], replays: bool
) -> list[tuple[tuple[Timed, _Ready | None], tuple[Timed, _Ready | None]]]:
    def prepared(record: Timed, artifact: Any) -> tuple[Timed, _Ready | None]:
        return record, None if artifact is None else _ready(world, record, artifact, replays)

    return [(prepared(*one), prepared(*other)) for one, other in zip(static, dynamic, strict=True)]


def _ready(world: _World, record: Timed, artifact: Any, replays: bool) -> _Ready | None:
    record.problem = None
    clock = world.clock
    try:
        call = world.call(artifact, record.sizes)
        for _ in range(_WARM_UP):
            call()
        if replays:
            call = _replayed(record, call)
        once_s = max(clock(call, 1), 1e-9)
    except Exception as problem:
        record.problem = _said(problem)
        return None
    return _Ready(record, call, clock, max(1, min(_MOST_CALLS, round(_SAMPLE_S / once_s))))


def _sample(pairs: Sequence[tuple[_Ready | None, _Ready | None]], rounds: int) -> None:
    for number in range(rounds):
        for pair in pairs if number % 2 == 0 else reversed(pairs):
            for ready in pair if number % 2 == 0 else reversed(pair):
                if ready is not None:
                    spent_s = ready.clock(ready.call, ready.calls)
                    ready.record.samples_us.append(spent_s / ready.calls * _US)


def _clocked(seconds: Callable[[], float], call: Callable[[], object], calls: int) -> float:
    start = seconds()
    for _ in range(calls):
        call()
    return seconds() - start


def _device_clock(call: Callable[[], object], calls: int) -> float:
    """Seconds on the device, by events on its stream."""
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000


def _replayed(record: Timed, call: Callable[[], object]) -> Callable[[], object]:
    """The call as a CUDA graph; what that took and keeps goes into ``record``."""
    started = time.perf_counter()
    graph = torch.cuda.CUDAGraph()
    with _side_stream():
        call()
    with torch.cuda.graph(graph):
        call()
    torch.cuda.synchronize()
    record.capture_s = time.perf_counter() - started
    # What is reserved in all says nothing: recording gives cached blocks back to the device.
    mine = [each for each in torch.cuda.memory_snapshot() if each.get("segment_pool_id") == graph.pool()]
    record.memory_bytes = sum(each["total_size"] for each in mine)
    replay: Callable[[], object] = graph.replay
    return replay


@contextmanager
def _side_stream() -> Iterator[None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def _said(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".splitlines()[0][:500]
