"""Each recording of a CUDA graph, each warm-up before one, and how large the memory pool is after it.

Replays are not wrapped: they are what cudagraphs make fast. Warm-ups and recordings are rare and slow, and a
second recording of a function is a re-record. Calls of the graph that were neither are its replays.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from compilescope.capture._inductor_ids import write
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

MAX_INPUTS = 64
MAX_WARM_UPS = 2048
MAX_MEASURED = 256
MAX_SNAPSHOT_S = 0.02  # an allocator with so many blocks is not asked again


class CudagraphRecordings:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._warm_ups = 0
        self._measured = 0

    def install(self) -> list[Patch]:
        from torch._inductor.cudagraph_trees import CUDAGraphTreeManager

        return [
            patch(CUDAGraphTreeManager, "record_function", self._make),
            patch(CUDAGraphTreeManager, "run_eager", self._make_warm_up),
        ]

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def record_function(self_: Any, new_inputs: Any, function_id: Any, *args: Any, **kwargs: Any) -> Any:
            fields: dict[str, object] = {}
            if session.active:  # before: recording takes the inputs away
                session.safely(self._describe, fields, self_, new_inputs, function_id)
            result = original(self_, new_inputs, function_id, *args, **kwargs)
            if session.active:
                session.safely(self._measure, fields, self_)
                session.safely(write, session, "cudagraph_record", fields)
            return result

        return record_function

    def _make_warm_up(self, original: Wrapper) -> Wrapper:
        session = self._session

        def run_eager(self_: Any, new_inputs: Any, function_id: Any, *args: Any, **kwargs: Any) -> Any:
            if session.active and self._warm_ups <= MAX_WARM_UPS:
                session.safely(self._write_warm_up, self_, function_id)
            return original(self_, new_inputs, function_id, *args, **kwargs)

        return run_eager

    def _describe(self, fields: dict[str, object], manager: Any, new_inputs: Any, function_id: Any) -> None:
        fields |= _function(manager, function_id)
        fields["inputs"] = [_shape(value) for value in list(new_inputs)[:MAX_INPUTS]]
        fields["count"] = len(new_inputs)

    def _measure(self, fields: dict[str, object], manager: Any) -> None:
        """Bytes the allocator holds for the graphs of this manager. Asks no device."""
        if self._measured >= MAX_MEASURED:
            return
        trees = sys.modules["torch._inductor.cudagraph_trees"]
        started = time.perf_counter()
        pool = manager.cuda_graphs_thread_pool
        segments = trees.get_cudagraph_segments(pool)
        took = time.perf_counter() - started
        self._measured = MAX_MEASURED if took > MAX_SNAPSHOT_S else self._measured + 1
        fields["pool"] = [int(n) for n in pool]
        fields["pool_bytes"] = sum(int(segment["total_size"]) for segment in segments)

    def _write_warm_up(self, manager: Any, function_id: Any) -> None:
        self._warm_ups += 1
        if self._warm_ups > MAX_WARM_UPS:
            self._session.writer.lost(f"warm-ups of CUDA graphs beyond {MAX_WARM_UPS} are not counted")
            return
        write(self._session, "cudagraph_warm_up", _function(manager, function_id))


def _function(manager: Any, function_id: Any) -> dict[str, object]:
    mode = manager.id_to_mode.get(function_id)
    return {
        "function": getattr(function_id, "id", None),
        "mode": getattr(mode, "name", "").lower() or None,
        "compile": str(getattr(manager, "compile_id", None) or "") or None,
    }


def _shape(value: Any) -> Any:
    """A tensor's sizes, an int as itself. Reads no element: nothing waits for the device."""
    if isinstance(value, int):
        return value
    shape = getattr(value, "shape", None)
    return [int(n) for n in shape] if shape is not None else None
