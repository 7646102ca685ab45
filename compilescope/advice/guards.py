"""Frames whose guards take as long to check as their graph may take to run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from compilescope.advice.cause import with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding
from compilescope.advice.of_frame import of_frame
from compilescope.analysis.report import Graph

_MANY_GUARDS = 1000
_ELEMENTS_PER_GUARD = 16  # inputs below this: checking takes as long as reading everything the graph works on
_GUARD_US = 0.04  # one guard of a warm check on a desktop core; an order of magnitude, not a measurement
_GUARD_SHARE = 0.02  # of the whole run


def heavy_guards(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """Many guards for little work: every call checks them all before it runs the graph."""
    elements = {(g.process, g.compile_id): _elements(g) for g in facts.report.graphs}
    wall = facts.report.recording.wall_s
    for frame in facts.report.frames:
        guards = max((facts.guards.get((frame.process, i), 0) for i in frame.compile_ids), default=0)
        calls = frame.compiled_calls or 0
        if guards < _MANY_GUARDS or calls < 2:
            continue
        spent = guards * calls * _GUARD_US * 1e-6
        work = max((elements.get((frame.process, i), 0) for i in frame.compile_ids), default=0)
        is_small = 0 < work < _ELEMENTS_PER_GUARD * guards
        if not is_small and not (wall and spent >= _GUARD_SHARE * wall):
            continue
        found = of_frame(
            facts,
            frame,
            "guard_overhead",
            "fewer_guarded_objects",
            f"{guards:,} guards are checked on every call, for a graph over {work:,} numbers",
            "read settings once in __init__, stack many small parameters into one tensor, "
            "and keep dicts and lists of numbers out of forward()",
            "if one call takes many milliseconds, a fraction of one for guards does not matter",
            severity="medium" if is_small else "low",
            confidence="medium",
        )
        cost = {
            "guards": Amount(guards, "counted", "guards of the largest entry"),
            "guard_check_s": Amount(round(spent, 6), "estimated", f"{_GUARD_US} us a guard and call"),
        }
        yield with_cost(found, cost)


def _elements(graph: Graph) -> int:
    """Numbers in all tensor inputs of static shape: a lower bound of the work of a call."""
    return sum(
        math.prod(p.shape)
        for p in graph.placeholders
        if p.kind == "tensor" and p.shape is not None and all(type(n) is int for n in p.shape)
    )
