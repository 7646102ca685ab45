"""Recording a function's kernels and replaying them: the one module here that calls CUDA."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from compilescope.bucketing.graphs.outputs import left_to_the_pool, over_cuda

WARM_UP_RUNS = 3
"""Runs before the recording: kernels are loaded and autotuned, libraries make their workspaces."""


@dataclass(frozen=True, slots=True)
class Recording:
    """``replay`` runs the kernels again on the same addresses and so overwrites ``outputs``.

    Their memory may serve later recordings too. Whoever holds one of them holds the pool.
    """

    replay: Callable[[], None]
    outputs: tuple[Any, ...]
    wall_s: float


class Recorder(Protocol):
    """What records. Another device, or a test without one, brings its own."""

    device_type: str

    def busy(self) -> str | None:
        """Why nothing may be replayed now; None when it may."""

    def queue(self, device: torch.device) -> int:
        """What work given to ``device`` by this thread is ordered by: the number of its current stream."""

    def record(self, run: Callable[[], Any], device: torch.device) -> Recording:
        """Call ``run`` a few times, then once more while recording it. Raises what CUDA raises."""

    def settle(self) -> None:
        """Wait until everything replayed so far has run: the next caller may use another queue."""

    def pool_bytes(self) -> int:
        """Device memory the recordings hold together."""

    def forget_pool(self) -> None:
        """A recording failed: the next ones go to a new pool."""


class CudaRecorder:
    """CUDA graphs in one memory pool: what one recording frees, the next one may use."""

    device_type = "cuda"

    def __init__(self) -> None:
        self._pool: Any = None
        self._streams: dict[torch.device, Any] = {}

    def busy(self) -> str | None:
        return "the caller records a graph itself" if torch.cuda.is_current_stream_capturing() else None

    def queue(self, device: torch.device) -> int:
        index: int = torch.cuda.current_device()
        if device.index != index:
            return -1 - index
        return torch._C._cuda_getCurrentRawStream(index)  # type: ignore[no-any-return]

    def record(self, run: Callable[[], Any], device: torch.device) -> Recording:
        started = time.perf_counter()
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        with torch.cuda.device(device):
            side = self._streams.setdefault(device, torch.cuda.Stream(device))
            self._warm_up(run, side)
            graph = torch.cuda.CUDAGraph()
            # Other threads (pinning, data loading) go on calling CUDA: only this one must not synchronize.
            with (
                workspaces_of_its_own(),
                torch.cuda.graph(graph, pool=self._pool, stream=side, capture_error_mode="thread_local"),
            ):
                owned = tuple(run())
            torch.cuda.current_stream().wait_stream(side)
            outputs = left_to_the_pool(owned, graph, self._is_in_pool(), over_cuda)
        return Recording(graph.replay, outputs, time.perf_counter() - started)

    def settle(self) -> None:
        torch.cuda.synchronize()

    def pool_bytes(self) -> int:
        return sum(size for _, size in self._segments())

    def forget_pool(self) -> None:
        self._pool = None

    def _segments(self) -> list[tuple[int, int]]:
        """The pool's memory as (address, bytes), in order."""
        if self._pool is None:
            return []
        segments = torch.cuda.memory_snapshot()
        return sorted(
            (each["address"], each["total_size"])
            for each in segments
            if each.get("segment_pool_id") == self._pool
        )

    def _is_in_pool(self) -> Callable[[int], bool]:
        segments = self._segments()

        def is_in_pool(address: int) -> bool:
            at = bisect.bisect_right(segments, (address, float("inf"))) - 1
            return at >= 0 and address < segments[at][0] + segments[at][1]

        return is_in_pool

    def _warm_up(self, run: Callable[[], Any], side: Any) -> None:
        current = torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_RUNS):
                run()
        current.wait_stream(side)


@contextmanager
def workspaces_of_its_own() -> Iterator[None]:
    """What is recorded within takes the workspaces of cuBLAS from the pool, and gives them back to it.

    torch keeps one for each handle and stream until somebody clears them all, as its own CUDA graphs do at
    each recording: a graph that took one of those would go on writing into memory that is no longer its.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()
