"""How often compiled pieces of a function ran, from the pieces around them where they have no graph.

Dynamo cuts a function at a graph break into the part before and a resume function for the rest. Each has a
graph, whose calls are counted, unless it holds no operation. One part runs exactly as often as the other:
what breaks at a line resumes at it, once. Branches on a tensor resume in one of two functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from compilescope.analysis.index import Break, FrameGroup, Index
from compilescope.model import CompileId

_MAX_CHAIN = 50
Seen = frozenset[object]


class Executions:
    def __init__(self, index: Index) -> None:
        self._index = index

    def of(self, frame: FrameGroup, ids: Collection[CompileId]) -> int | None:
        """Executions of some of a frame's compiles, without eager ones. None: nothing counts them."""
        return self._count(frame, frozenset(ids), frozenset())

    def eager(self, frame: FrameGroup) -> int | None:
        """Eager calls after a limit; 0 when it was never reached, None when nobody counted."""
        if not any(c.refused for c in frame.compiles):
            return 0
        return self._index.process.eager_calls.get(frame.serial) if frame.serial is not None else None

    def _count(self, frame: FrameGroup, ids: Collection[CompileId], seen: Seen) -> int | None:
        counts = [self._index.calls_of(compile_id) for compile_id in ids]
        known = [n for n in counts if n is not None]
        if known and len(known) == len(counts):
            return sum(known)
        # The neighbors' counts belong to all compiles of the frame together.
        is_whole = not known and set(ids) == {c.id for c in frame.compiles if c.compiled}
        if not is_whole or frame.key in seen or len(seen) > _MAX_CHAIN:
            return None
        seen |= {frame.key}
        after = self._after(frame, ids, seen)
        return self._before(frame, seen) if after is None else after

    def _after(self, frame: FrameGroup, ids: Iterable[CompileId], seen: Seen) -> int | None:
        """Executions of the resume functions for the lines these compiles broke at."""
        broken = [item for compile_id in ids for item in self._index.breaks_of.get(compile_id, ())]
        lines = {line for item in broken for line in _lines_in(frame, item)}
        rests = [f for f in self._index.frames.values() if _continues(f, frame) and f.resumed_at in lines]
        counts: list[int | None] = []
        for rest in rests:
            compiled = [c.id for c in rest.compiles if c.compiled]
            counts += [self._count(rest, compiled, seen), self.eager(rest)]
        known = [n for n in counts if n is not None]
        return sum(known) if rests and len(known) == len(counts) else None

    def _before(self, frame: FrameGroup, seen: Seen) -> int | None:
        """Executions of what broke at the line this function resumes at, unless it may resume elsewhere."""
        total = None
        for before in self._index.frames.values() if frame.resumed_at is not None else ():
            if not _continues(frame, before):
                continue
            here = {c.id: self._broken_at(before, c.id, frame.resumed_at) for c in before.compiles}
            ids = [compile_id for compile_id, items in here.items() if items]
            if any(_is_own_branch(item, frame) for items in here.values() for item in items):
                return None
            count = self._count(before, ids, seen) if ids else 0
            if count is None:
                return None
            total = (total or 0) + count if ids else total
        return total

    def _broken_at(self, frame: FrameGroup, compile_id: CompileId, line: int | None) -> list[Break]:
        return [b for b in self._index.breaks_of.get(compile_id, ()) if line in _lines_in(frame, b)]


def _lines_in(frame: FrameGroup, item: Break) -> set[int]:
    return {line for file, line, _ in item.text.stack if file == frame.code.file}


def _is_own_branch(item: Break, rest: FrameGroup) -> bool:
    """Whether the function itself branched there, and not something it called."""
    at = (item.text.file, item.text.line)
    return "branch" in item.text.gb_type.lower() and at == (rest.code.file, rest.resumed_at)


def _continues(rest: FrameGroup, frame: FrameGroup) -> bool:
    same = rest.code.file == frame.code.file and rest.function == frame.function
    return same and rest.resumed_at is not None and rest is not frame
