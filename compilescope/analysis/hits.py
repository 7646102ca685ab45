"""How often a break line ran, counted, never estimated.

The executions of what ends at the break, summed over the compiles of the function that holds the line; else
of the functions that call it and were split by the same break; else of the one compiled function the line
calls. Calls that ran eager after a recompile limit are executions too, where each must have reached the line:
where a condition or a loop decides, the counted ones are said to be the least.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from compilescope.analysis.executions import Executions
from compilescope.analysis.index import Break, FrameGroup, FrameKey, Index, original_name
from compilescope.analysis.report import AT_LEAST
from compilescope.model import CompileId
from compilescope.units import count

_ELSEWHERE = 99
_ENDS_THERE = "calls of the graph that ends there"


@dataclass(frozen=True, slots=True)
class Hits:
    """``count`` is None when it could not be counted; ``basis`` then says why, else what was counted."""

    count: int | None
    basis: str


class HitCounter:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._executions = Executions(index)

    def count(self, events: Sequence[Break]) -> Hits:
        """Hits of one site, from all events torch logged for it."""
        graphs = self._index.process.graphs
        if graphs and all(graph.calls is None for graph in graphs):
            return Hits(None, self._index.why_uncounted())
        if any(self._index.scopes.calls_itself(e.text.file or "", e.text.line) for e in events):
            return Hits(None, "the function calls itself, and torch does not say at which depth it broke")
        for level in self._levels([event for event in events if not self._is_same_execution(event)]):
            hits = self._of_level(level)
            if hits:
                return hits
        return self._from_callee(events) or Hits(None, self._why_not(events))

    def _is_same_execution(self, event: Break) -> bool:
        """A second break on one line, met by the function that resumed on it, outside any loop."""
        frame = self._frame(event)
        at = (event.text.file, event.text.line)
        if frame is None or event.text.file is None or (frame.code.file, frame.resumed_at) != at:
            return False
        return not self._index.scopes.in_loop(event.text.file, event.text.line)

    def _levels(self, events: Sequence[Break]) -> list[list[Break]]:
        """Events by how far the compiled function is from the broken line: its own function first."""
        levels: dict[int, list[Break]] = defaultdict(list)
        for event in events:
            levels[self._distance(event)].append(event)
        return [levels[distance] for distance in sorted(levels)]

    def _distance(self, event: Break) -> int:
        """Calls between the compiled function and the broken line."""
        frame = self._frame(event)
        for distance, (file, line, function) in enumerate(reversed(event.text.stack)):
            if frame is not None and self._is_of(frame, file, line, function):
                return distance
        return _ELSEWHERE

    def _is_of(self, frame: FrameGroup, file: str, line: int, function: str) -> bool:
        """Whether a stack line is in the frame's function: many functions of a file are called forward."""
        if file != frame.code.file or original_name(function)[0] != frame.function:
            return False
        starts = [self._index.scopes.start_of(file, n) for n in (line, frame.code.line)]
        return starts[0] == starts[1] if None not in starts else line >= frame.code.line

    def _of_level(self, events: Sequence[Break]) -> Hits | None:
        ids: dict[FrameKey, set[CompileId]] = defaultdict(set)
        for event in events:
            compile_id = event.event.compile
            if compile_id is None or event.text.outcome == "frame_skipped":
                return None
            ids[self._index.key_of(compile_id)].add(compile_id)
        counts: list[int | None] = []
        late = unsure = 0
        for key, compiles in ids.items():
            frame = self._index.frames.get(key)
            if frame is None:
                return None
            eager = self._executions.eager(frame)
            counts.append(None if eager is None else self._executions.of(frame, compiles))
            if self._all_reach(frame, compiles, events):
                late += eager or 0
            else:
                unsure += eager or 0
        known = [n for n in counts if n is not None]
        if not counts or len(known) < len(counts):
            return None
        basis = _ENDS_THERE + (f", and {count(late, 'eager call')}" if late else "")
        if unsure:
            basis = f"{AT_LEAST}{basis}; {count(unsure, 'eager call')} may have reached the line or not"
        return Hits(sum(known) + late, basis)

    def _all_reach(self, frame: FrameGroup, compiles: set[CompileId], events: Sequence[Break]) -> bool:
        """Whether every call of the function runs the line once: those that were compiled did, and no branch,
        loop or early return stands before it, in the function or in what it calls on the way there.
        """
        others = (c.id for c in frame.compiles if c.compiled and c.id not in compiles)
        if any(self._index.calls_of(other) != 0 for other in others):
            return False
        own = (e for e in events if e.event.compile in compiles)
        way = {(f, n) for e in own for f, n, _ in e.text.stack[-1 - self._distance(e) :]}
        return bool(way) and all(self._index.scopes.always_reached(file, line) for file, line in way)

    def _from_callee(self, events: Sequence[Break]) -> Hits | None:
        """Calls of what the line calls, when that is exactly one compiled function with a graph."""
        sites = {(e.text.file, e.text.line) for e in events}
        if any(self._index.scopes.in_loop(file, line) for file, line in sites if file):
            return None
        counts = {}
        for frame in self._index.frames.values():
            called = [c for c in frame.compiles if c.call and (c.call[0].file, c.call[0].line) in sites]
            if called and frame.resumed_at is None:
                known = [self._index.calls_of(c.id) for c in frame.compiles if c.compiled]
                if known and all(n is not None for n in known):
                    counts[frame.key] = sum(n or 0 for n in known)
        if len(set(counts.values())) != 1:
            return None
        return Hits(counts.popitem()[1], "calls of the compiled function that the line calls")

    def _frame(self, event: Break) -> FrameGroup | None:
        compile_id = event.event.compile
        return self._index.frame_of(compile_id) if compile_id else None

    def _why_not(self, events: Sequence[Break]) -> str:
        if all(event.text.outcome == "frame_skipped" for event in events):
            return "the function was skipped as a whole: nothing of it is compiled, nothing counts its calls"
        if all(self._frame(event) is None for event in events):
            return "nothing else is on record of the compile that broke there"
        return "no graph ends there or starts after it: nothing is computed before or after the line"
