"""Each recording of a CUDA graph: which function, how often, at which input shapes.

Replays are not wrapped: they are what cudagraphs make fast. Recordings are rare and slow, and a second one
of a function is a re-record.
"""

from __future__ import annotations

from typing import Any

from compilescope.capture._inductor_ids import write
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

MAX_INPUTS = 64


class CudagraphRecordings:
    def __init__(self, session: Session) -> None:
        self._session = session

    def install(self) -> Patch:
        from torch._inductor.cudagraph_trees import CUDAGraphTreeManager

        return patch(CUDAGraphTreeManager, "record_function", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def record_function(self_: Any, new_inputs: Any, function_id: Any, *args: Any, **kwargs: Any) -> Any:
            if session.active:
                session.safely(self._write, self_, new_inputs, function_id)
            return original(self_, new_inputs, function_id, *args, **kwargs)

        return record_function

    def _write(self, manager: Any, new_inputs: Any, function_id: Any) -> None:
        mode = manager.id_to_mode.get(function_id)
        fields: dict[str, object] = {
            "function": getattr(function_id, "id", None),
            "mode": getattr(mode, "name", "").lower() or None,
            "compile": str(getattr(manager, "compile_id", None) or "") or None,
            "inputs": [_shape(value) for value in list(new_inputs)[:MAX_INPUTS]],
            "count": len(new_inputs),
        }
        write(self._session, "cudagraph_record", fields)


def _shape(value: Any) -> Any:
    """A tensor's sizes, an int as itself. Reads no element: nothing waits for the device."""
    if isinstance(value, int):
        return value
    shape = getattr(value, "shape", None)
    return [int(n) for n in shape] if shape is not None else None
