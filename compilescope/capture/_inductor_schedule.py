"""What Inductor's scheduler made of a graph, and what its wrapper calls: written on a cache miss only.

A hit has neither; there the generated code is the only source. The walk reads objects that Inductor is done
with, after the original returned, and asks for nothing that adds a guard or changes a cache key.
"""

from __future__ import annotations

import json
from typing import Any

from compilescope.capture._inductor_ids import write
from compilescope.capture._inductor_nodes import described_call, described_node
from compilescope.capture._inductor_unfused import UnfusedPairs
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks


class InductorSchedule:
    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._session = session
        self._stacks = stacks
        self._unfused = UnfusedPairs(session)

    def install_unfused(self) -> Patch:
        return self._unfused.install()

    def install_scheduler(self) -> list[Patch]:
        from torch._inductor.scheduler import Scheduler

        return [patch(Scheduler, "fuse_nodes", self._fusing), patch(Scheduler, "codegen", self._generating)]

    def install_wrapper(self) -> Patch:
        from torch._inductor.codegen.wrapper import PythonWrapperCodegen

        return patch(PythonWrapperCodegen, "run_wrapper_ir_passes", self._planning)

    def _fusing(self, original: Wrapper) -> Wrapper:
        session = self._session

        def fuse_nodes(self_: Any, nodes: Any, *args: Any, **kwargs: Any) -> Any:
            before = len(nodes)
            fused = original(self_, nodes, *args, **kwargs)
            if session.active:
                session.safely(self._count_fused, self_, before, len(fused))
            return fused

        return fuse_nodes

    def _count_fused(self, scheduler: Any, before: int, after: int) -> None:
        scheduler._compilescope_fused = (before, after)

    def _generating(self, original: Wrapper) -> Wrapper:
        session = self._session

        def codegen(self_: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self_, *args, **kwargs)
            if session.active:
                session.safely(self._write_schedule, self_)
            return result

        return codegen

    def _write_schedule(self, scheduler: Any) -> None:
        from torch._inductor.virtualized import V

        before, after = getattr(scheduler, "_compilescope_fused", (None, None))
        nodes = [self._node(node) for node in scheduler.nodes]
        summary = {
            "graph": _text(getattr(V.graph, "name", None)),
            "is_backward": bool(getattr(V.graph, "is_backward", False)),
            "is_inference": bool(getattr(V.graph, "is_inference", False)),
            "before": before,
            "after": after,
        }
        self._write("inductor_schedule", summary, nodes)
        self._session.safely(self._write_unfused)

    def _write_unfused(self) -> None:
        counts, rows, pairs = self._unfused.take()
        if counts:
            self._write("inductor_unfused", {"reasons": counts, "pairs": pairs}, rows)

    def _node(self, node: Any) -> dict[str, Any]:
        """One node that cannot be read must not cost the others."""
        try:
            return described_node(node, self._stacks)
        except Exception as error:
            self._session.writer.lost(f"scheduler node not read: {type(error).__name__}")
            return {"type": type(node).__name__}

    def _planning(self, original: Wrapper) -> Wrapper:
        session = self._session

        def run_wrapper_ir_passes(self_: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self_, *args, **kwargs)
            if session.active:
                session.safely(self._write_calls, self_)
            return result

        return run_wrapper_ir_passes

    def _write_calls(self, wrapper: Any) -> None:
        lines: dict[str, int] = {}
        calls = []
        for line in wrapper.lines:
            kind = type(line).__name__
            lines[kind] = lines.get(kind, 0) + 1
            call = described_call(line)
            if call is not None:
                calls.append(call)
        name = getattr(wrapper, "launcher_fn_name", None)
        self._write("inductor_calls", {"function": _text(name), "lines": lines}, calls)

    def _write(self, kind: str, summary: dict[str, Any], rows: list[Any]) -> None:
        kept = {k: v for k, v in summary.items() if v is not None}
        write(self._session, kind, kept, json.dumps(rows, separators=(",", ":")))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
