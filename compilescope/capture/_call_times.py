"""How long real calls of a compiled graph take, where the user asked for it: every n-th call is timed.

On a CUDA device two events are recorded around the call and read by a later one, when the device has passed
them: nothing waits for the device. On a CPU it is the wall clock. Nothing is timed while the stream is being
captured into a CUDA graph.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

EVERY = "COMPILESCOPE_TIME_CALLS"
_KEPT = 64  # latest samples by sizes; their median is written
_MOST_KEYS = 512
_MOST_PENDING = 64  # pairs of events the device has not passed yet


def every_n() -> int:
    """Each how-manyeth call is timed; 0: none."""
    text = os.environ.get(EVERY, "")
    return int(text) if text.isdecimal() else 0


class CallTimes:
    """Samples of one graph. Written by the thread that calls, read by the one that writes snapshots."""

    __slots__ = ("_clock", "_pending", "_samples", "_taken")

    def __init__(self, device: str) -> None:
        self._samples: dict[Any, deque[float]] = {}
        self._taken: dict[Any, int] = {}
        self._pending: deque[tuple[Any, Any, Any]] = deque()
        self._clock = self._by_events if device == "cuda" else self._by_wall

    def call(self, key: Any, function: Any, args: tuple[Any, ...]) -> Any:
        """The call itself, timed. Raises what ``function`` raises, and nothing else."""
        return self._clock(key, function, args)

    def row(self) -> dict[str, list[float]]:
        """``[samples taken, median of the latest in us]`` by sizes, as they are named in a snapshot."""
        return {
            _name(key): [self._taken.get(key, len(times)), round(statistics.median(times), 3)]
            for key, times in list(self._samples.items())
            if times
        }

    def clear(self) -> None:
        self._samples.clear()
        self._taken.clear()
        self._pending.clear()

    def _by_wall(self, key: Any, function: Any, args: tuple[Any, ...]) -> Any:
        start_ns = time.perf_counter_ns()
        result = function(*args)
        self._add(key, (time.perf_counter_ns() - start_ns) / 1000)
        return result

    def _by_events(self, key: Any, function: Any, args: tuple[Any, ...]) -> Any:
        events = self._start()
        result = function(*args)
        if events is not None:
            self._end(key, *events)
        return result

    def _start(self) -> tuple[Any, Any] | None:
        try:
            import torch

            if torch.cuda.is_current_stream_capturing():
                return None
            self._read()
            if len(self._pending) >= _MOST_PENDING:
                return None
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
        except Exception:
            return None
        return start, end

    def _end(self, key: Any, start: Any, end: Any) -> None:
        try:
            end.record()
            self._pending.append((key, start, end))
        except Exception:
            pass  # the call itself went well: it has no time

    def _read(self) -> None:
        """What the device has passed by now; a query waits for nothing."""
        while self._pending and self._pending[0][2].query():
            key, start, end = self._pending.popleft()
            self._add(key, start.elapsed_time(end) * 1000)

    def _add(self, key: Any, taken_us: float) -> None:
        times = self._samples.get(key)
        if times is None:
            if len(self._samples) >= _MOST_KEYS:
                return
            times = self._samples[key] = deque(maxlen=_KEPT)
        times.append(taken_us)
        self._taken[key] = self._taken.get(key, 0) + 1


def timing(function: Any, times: CallTimes, key_of: Callable[[tuple[Any, ...]], Any], every: int) -> Any:
    """``function``, every ``every``-th call timed: the others are one subtraction longer.

    The first call is not timed: what is allocated on first use would be in it.
    """
    left = [every]

    def run(*args: Any) -> Any:
        left[0] -= 1
        if left[0] > 0:
            return function(*args)
        left[0] = every
        try:
            key = key_of(args)
        except Exception:
            return function(*args)
        return times.call(key, function, args)

    return run


def device_of(description: Mapping[str, Any]) -> str:
    """Where the graph runs: ``cuda`` as soon as an input is there."""
    devices = [str(each.get("device", "")) for each in description.get("placeholders", ())]
    return "cuda" if any(device.startswith("cuda") for device in devices) else "cpu"


def no_sizes(_: tuple[Any, ...]) -> str:
    """The key of a graph without size inputs."""
    return ""


def timing_functions() -> list[Any]:
    """For marking their code as not Dynamo's business."""
    times = CallTimes("cpu")
    return [
        timing(len, times, no_sizes, 1),
        CallTimes.call,
        CallTimes._by_wall,
        CallTimes._by_events,
        no_sizes,
    ]


def _name(key: Any) -> str:
    return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
