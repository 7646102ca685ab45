"""The hooks below Dynamo in one place: which module each waits for, and what takes them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compilescope.capture._inductor_autotune import Autotuning
from compilescope.capture._inductor_cudagraphs import CudagraphRecordings
from compilescope.capture._inductor_schedule import InductorSchedule
from compilescope.capture._patches import Patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

Install = Callable[[], "Patch | list[Patch] | None"]


class InductorHooks:
    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._schedule = InductorSchedule(session, stacks)
        self._autotuning = Autotuning(session, stacks)
        self._cudagraphs = CudagraphRecordings(session)

    def waiting(self) -> Sequence[tuple[str, str, Install]]:
        """(module to wait for, name of the hook, what installs it). Nothing is imported for our sake."""
        heuristics = "torch._inductor.runtime.triton_heuristics"
        return (
            ("torch._inductor.scheduler", "inductor_schedule", self._schedule.install_scheduler),
            # the first module after the scheduler's that every compile imports
            ("torch._inductor.codegen.simd", "unfused", self._schedule.install_unfused),
            ("torch._inductor.codegen.wrapper", "inductor_calls", self._schedule.install_wrapper),
            ("torch._inductor.select_algorithm", "autotune", self._autotuning.install_selection),
            (heuristics, "triton_autotune", self._autotuning.install_triton),
            (heuristics, "candidates", self._autotuning.candidates.install),
            ("torch._inductor.cudagraph_trees", "cudagraph_records", self._cudagraphs.install),
        )

    def remove(self) -> None:
        """What is not a patch: a callback on Inductor's list, a handler on its logger."""
        self._autotuning.remove()
