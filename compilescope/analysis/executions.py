"""How often compiled pieces of a function ran, from the pieces around them where they have no graph.

Dynamo cuts a function at a graph break into the part before and a resume function for the rest. Each has a
graph, whose calls are counted, unless it holds no operation. One part runs exactly as often as the other:
what breaks at a line resumes at it, once. Branches on a tensor resume in one of two functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property

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
        resuming = self._resuming.get(_name(frame), {})
        rests = [f for line in sorted(lines) for f in resuming.get(line, ()) if f is not frame]
        total = 0
        for rest in rests:
            # One that is not known makes all unknown: to look at the others would be a walk over all paths.
            eager = self.eager(rest)
            compiled = [c.id for c in rest.compiles if c.compiled]
            count = None if eager is None else self._count(rest, compiled, seen)
            if eager is None or count is None:
                return None
            total += count + eager
        return total if rests else None

    def _before(self, frame: FrameGroup, seen: Seen) -> int | None:
        """Executions of what broke at the line this function resumes at, unless it may resume elsewhere."""
        total = None
        for before in self._breaking.get(_name(frame), {}).get(frame.resumed_at or 0, ()):
            if before is frame:
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

    @cached_property
    def _resuming(self) -> dict[tuple[str, str], dict[int, list[FrameGroup]]]:
        """Resume functions by what they are of, and the line they resume at."""
        found: dict[tuple[str, str], dict[int, list[FrameGroup]]] = defaultdict(lambda: defaultdict(list))
        for frame in self._index.frames.values():
            if frame.resumed_at is not None:
                found[_name(frame)][frame.resumed_at].append(frame)
        return found

    @cached_property
    def _breaking(self) -> dict[tuple[str, str], dict[int, list[FrameGroup]]]:
        """Functions by name, and the lines of theirs that some compile broke at."""
        found: dict[tuple[str, str], dict[int, list[FrameGroup]]] = defaultdict(lambda: defaultdict(list))
        for frame in self._index.frames.values():
            broken = [item for c in frame.compiles for item in self._index.breaks_of.get(c.id, ())]
            for line in {line for item in broken for line in _lines_in(frame, item)}:
                found[_name(frame)][line].append(frame)
        return found

    def _broken_at(self, frame: FrameGroup, compile_id: CompileId, line: int | None) -> list[Break]:
        return [b for b in self._index.breaks_of.get(compile_id, ()) if line in _lines_in(frame, b)]


def _lines_in(frame: FrameGroup, item: Break) -> set[int]:
    return {line for file, line, _ in item.text.stack if file == frame.code.file}


def _is_own_branch(item: Break, rest: FrameGroup) -> bool:
    """Whether the function itself branched there, and not something it called."""
    at = (item.text.file, item.text.line)
    return "branch" in item.text.gb_type.lower() and at == (rest.code.file, rest.resumed_at)


def _name(frame: FrameGroup) -> tuple[str, str]:
    """File and function that a frame, or what it resumes, is of."""
    return frame.code.file, frame.function
