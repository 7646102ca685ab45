"""How often a compiled piece of a function ran, from the pieces around it where it has no graph itself.

Dynamo cuts a function at a graph break into the part before and a resume function for the rest. Each has a
graph, whose calls are counted, unless it holds no operation. One part runs exactly as often as the other:
what breaks at a line resumes at it, once. Branches on a tensor resume in one of two functions.
"""

from __future__ import annotations

from compilescope.analysis.index import Break, FrameGroup, Index
from compilescope.model import CompileId

_MAX_CHAIN = 50


class Executions:
    def __init__(self, index: Index) -> None:
        self._index = index

    def of(self, compile_id: CompileId) -> int | None:
        """Executions of one compile's code, without those that ran eager; None when nothing counts them."""
        return self._count(compile_id, frozenset())

    def eager(self, frame: FrameGroup) -> int | None:
        """Eager calls after a limit; 0 when it was never reached, None when nobody counted."""
        if not any(c.refused for c in frame.compiles):
            return 0
        return self._index.process.eager_calls.get(frame.serial) if frame.serial is not None else None

    def _count(self, compile_id: CompileId, seen: frozenset[CompileId]) -> int | None:
        calls = self._index.calls_of(compile_id)
        if calls is not None or compile_id in seen or len(seen) > _MAX_CHAIN:
            return calls
        frame = self._index.frame_of(compile_id)
        if frame is None or len([c for c in frame.compiles if c.compiled]) != 1:
            return None  # which of several compiles the neighbors' counts belong to is not known
        seen |= {compile_id}
        after = self._after(frame, compile_id, seen)
        return self._before(frame, seen) if after is None else after

    def _after(self, frame: FrameGroup, compile_id: CompileId, seen: frozenset[CompileId]) -> int | None:
        """Executions of the resume functions for the line this compile broke at."""
        broken = self._index.breaks_of.get(compile_id, ())
        lines = {line for item in broken for line in self._lines_in(frame, item)}
        rests = [f for f in self._index.frames.values() if _continues(f, frame) and f.resumed_at in lines]
        return self._sum(rests, seen)

    def _before(self, frame: FrameGroup, seen: frozenset[CompileId]) -> int | None:
        """Executions of what broke at the line this function resumes at, unless it may resume elsewhere."""
        if frame.resumed_at is None:
            return None
        total = 0
        for compile_id, broken in self._index.breaks_of.items():
            before = self._index.frame_of(compile_id)
            if before is None or not _continues(frame, before):
                continue
            here = [item for item in broken if frame.resumed_at in self._lines_in(before, item)]
            if here:
                count = self._count(compile_id, seen)
                if count is None or any(_is_own_branch(item, frame) for item in here):
                    return None
                total += count
        return total or None

    def _sum(self, frames: list[FrameGroup], seen: frozenset[CompileId]) -> int | None:
        counts: list[int | None] = []
        for frame in frames:
            counts += [self._count(c.id, seen) for c in frame.compiles if c.compiled]
            counts.append(self.eager(frame))
        known = [n for n in counts if n is not None]
        return sum(known) if frames and len(known) == len(counts) else None

    def _lines_in(self, frame: FrameGroup, item: Break) -> set[int]:
        return {line for file, line, _ in item.text.stack if file == frame.code.file}


def _is_own_branch(item: Break, rest: FrameGroup) -> bool:
    """Whether the function itself branched there, and not something it called."""
    at = (item.text.file, item.text.line)
    return "branch" in item.text.gb_type.lower() and at == (rest.code.file, rest.resumed_at)


def _continues(rest: FrameGroup, frame: FrameGroup) -> bool:
    same = rest.code.file == frame.code.file and rest.function == frame.function
    return same and rest.resumed_at is not None and rest is not frame
