"""CUDA graphs: the one module here that calls CUDA."""

from __future__ import annotations

import bisect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch

from compilescope.bucketing.graphs.outputs import left_to_the_pool, over_cuda
from compilescope.bucketing.graphs.recorder import WARM_UP_RUNS


class CudaRecorder:
    """CUDA graphs in one memory pool: what one recording frees, the next one may use."""

    device_type = "cuda"

    def __init__(self) -> None:
        self._pool: Any = None
        self._segments: list[tuple[int, int]] = []
        self._streams: dict[torch.device, Any] = {}

    def busy(self) -> str | None:
        return "the caller records a graph itself" if torch.cuda.is_current_stream_capturing() else None

    def queue(self, device: torch.device) -> int:
        index = torch.cuda.current_device() if device.index is None else device.index
        return torch._C._cuda_getCurrentRawStream(index)  # type: ignore[no-any-return]

    @contextmanager
    def tape(self, device: torch.device) -> Iterator[CudaTape]:
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        with torch.cuda.device(device):
            if device not in self._streams:
                self._streams[device] = torch.cuda.Stream(device)
            side, current = self._streams[device], torch.cuda.current_stream()
            side.wait_stream(current)
            self._segments = []
            try:
                with torch.cuda.stream(side):
                    yield CudaTape(self._pool, self._is_in_pool)
            finally:
                current.wait_stream(side)

    def settle(self) -> None:
        torch.cuda.synchronize()

    def pool_bytes(self) -> int:
        return sum(size for _, size in self._read_segments())

    def forget_pool(self) -> None:
        self._pool = None
        self._segments = []

    def _is_in_pool(self, address: int) -> bool:
        """The pool only grows while it is recorded to: what is known of it needs no second look."""
        if not _lies_in(self._segments, address):
            self._segments = self._read_segments()
        return _lies_in(self._segments, address)

    def _read_segments(self) -> list[tuple[int, int]]:
        """The pool's memory as (address, bytes), in order."""
        if self._pool is None:
            return []
        try:
            segments = torch.cuda.memory_snapshot(include_traces=False)
        except RuntimeError:  # an allocator that is not torch's own tells nothing
            return []
        return sorted(
            (each["address"], each["total_size"])
            for each in segments
            if each.get("segment_pool_id") == self._pool
        )


def _lies_in(segments: Sequence[tuple[int, int]], address: int) -> bool:
    at = bisect.bisect_right(segments, address, key=lambda segment: segment[0]) - 1
    return at >= 0 and address < segments[at][0] + segments[at][1]


class CudaTape:
    """Graphs captured one after the other on the current stream."""

    def __init__(self, pool: Any, is_in_pool: Callable[[int], bool]) -> None:
        self._pool = pool
        self._is_in_pool = is_in_pool
        self._graphs: list[Any] = []
        self._elsewhere: set[int] = set()

    def rehearse(self, run: Callable[[], Any]) -> None:
        for _ in range(WARM_UP_RUNS):
            run()

    def capture(
        self, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Callable[[], None] | None, tuple[Any, ...]]:
        graph = torch.cuda.CUDAGraph()
        with _workspaces_of_its_own():
            if not self._graphs:
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
            outputs, is_empty = _captured(graph, lambda: function(*arguments), self._pool)
        self._graphs.append(graph)
        return None if is_empty else graph.replay, outputs

    def left_to_the_pool(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return left_to_the_pool(values, self._graphs, self._looked_up, over_cuda)

    def _looked_up(self, address: int) -> bool:
        if address in self._elsewhere:
            return False
        found = self._is_in_pool(address)
        if not found:
            self._elsewhere.add(address)
        return found


def _captured(graph: Any, run: Callable[[], Any], pool: Any) -> tuple[tuple[Any, ...], bool]:
    """The outputs, and whether nothing was recorded: a piece of views has no kernels."""
    # Other threads (pinning, data loading) go on calling CUDA: only this one must not synchronize.
    graph.capture_begin(pool, capture_error_mode="thread_local")
    try:
        outputs = tuple(run())
        is_empty = _ended(graph)
    except BaseException:
        _undo(graph, pool)
        raise
    return outputs, is_empty


def _ended(graph: Any) -> bool:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        graph.capture_end()
    is_empty = False
    for each in told:
        if "CUDA Graph is empty" in str(each.message):
            is_empty = True
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return is_empty


_ended_badly: list[Any] = []
"""Torch goes on looking at these when memory is allocated: they must be there."""


def _undo(graph: Any, pool: Any) -> None:
    """After a capture that failed torch still takes it for running: allocations would go on being searched
    for it, and the random generator would refuse to draw until another capture has ended well.
    """
    _ended_badly.append(graph)
    with suppress(Exception):
        graph.capture_end()
    with suppress(Exception):
        torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)
    with suppress(Exception):
        another = torch.cuda.CUDAGraph()
        another.capture_begin(capture_error_mode="thread_local")
        torch.zeros(1, device="cuda")
        another.capture_end()


@contextmanager
def _workspaces_of_its_own() -> Iterator[None]:
    """What is captured within takes the workspaces of cuBLAS from the pool, and gives them back to it.

    torch keeps one for each handle and stream until somebody clears them all, as its own CUDA graphs do at
    each recording: a graph that took one of those would go on writing into memory that is no longer its.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()
