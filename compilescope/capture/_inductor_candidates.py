"""Candidates of autotuning that the process compiles itself, while it times them.

Compile workers have made them already, and what they made is found in Triton's cache within milliseconds.
Unless their ``ptxas`` is another one: workers take the one in torch's own folder where there is one
(``torch._inductor.runtime.compile_tasks._set_triton_ptxas_path``), the process takes Triton's, and its
version is part of Triton's cache key. Then every candidate is compiled twice, the second time alone.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

SELECT_MODULE = "torch._inductor.select_algorithm"
PTXAS_VARIABLE = "TRITON_PTXAS_PATH"
MAX_DEPTH = 40


class Candidates:
    """Counts until :meth:`take`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count, self._seconds = 0, 0.0

    def install(self) -> Patch:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        return patch(CachingAutotuner, "_precompile_config", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def _precompile_config(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if not session.active:
                return original(self_, *args, **kwargs)
            started = time.perf_counter()
            try:
                return original(self_, *args, **kwargs)
            finally:
                session.safely(self._note, time.perf_counter() - started)

        return _precompile_config

    def _note(self, seconds: float) -> None:
        if _is_being_timed():
            self._count += 1
            self._seconds += seconds

    def take(self) -> dict[str, Any]:
        """Fields of an ``autotune`` record: empty where the process compiled no candidate."""
        count, seconds = self._count, self._seconds
        self._count, self._seconds = 0, 0.0
        if not count:
            return {}
        assemblers = different_assemblers()
        return {
            "compiled": count,
            "compiled_s": round(seconds, 6),
            **({"assemblers": assemblers} if assemblers else {}),
        }


def _is_being_timed() -> bool:
    """Is a candidate's ``benchmark`` below us on the stack? Reading frames runs nothing."""
    frame: Any = sys._getframe(1)
    for _ in range(MAX_DEPTH):
        if frame is None:
            return False
        if frame.f_code.co_name == "benchmark" and frame.f_globals.get("__name__") == SELECT_MODULE:
            return True
        frame = frame.f_back
    return False


def different_assemblers() -> list[str]:
    """CUDA releases of the workers' ``ptxas`` and of the process's; empty where they are the same program.

    Asked after a compile in this process, when Triton has looked its own up.
    """
    import torch

    workers = Path(torch.__file__).parent / "bin" / "ptxas"
    try:
        process = sys.modules["triton.knobs"].nvidia.ptxas
        # Different programs of the same size would be a coincidence; to ask them would be to run them.
        is_one = workers.stat().st_size == Path(process.path).stat().st_size
    except Exception:  # no ptxas of torch's, no Triton, or one that keeps its tools elsewhere
        return []
    if is_one or PTXAS_VARIABLE in os.environ or not os.access(workers, os.X_OK):
        return []
    return [str(torch.version.cuda), str(process.version)]
