"""Functions ranked by the share of a call that checking their guards takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from compilescope.analysis.compile_time import last_compile_end_ns
from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.report_guards import GuardCost
from compilescope.analysis.report_missing import Missing
from compilescope.model import Compile, Detail

FEWEST_CALLS = 10  # from which a time per call is worth a word
FEWEST_STEPS = 5
_NO_CHECK = "no check was timed: the hook on new cache entries was not there"
_NO_CALLS = "no call was counted"
_NO_TIME = (
    f"after the last compile fewer than {FEWEST_CALLS} calls were counted between two readings of the "
    "counters, and the program told of no steps"
)
Point = tuple[int, int]  # unix ns, calls so far


def guard_costs(indexes: Iterable[Index]) -> list[GuardCost]:
    """Highest share first, then those without one by the seconds all their checks took."""
    rows = [row for index in indexes for row in _of_process(index)]
    return sorted(rows, key=lambda r: (-(r.share or -1.0), -(r.checks_s or 0.0), r.file, r.line))


def _of_process(index: Index) -> Iterator[GuardCost]:
    detail = index.process.detail
    if detail is None:
        return
    settled_ns = last_compile_end_ns([index.process])
    for frame in index.frames.values():
        guarded = [c for c in frame.compiles if c.compiled and _guards(detail, c) is not None]
        if guarded:
            yield _row(index, detail, frame, guarded, settled_ns)


def _row(
    index: Index, detail: Detail, frame: FrameGroup, compiles: Sequence[Compile], settled_ns: int | None
) -> GuardCost:
    place = index.blamed(frame)
    timed = [(c, hot) for c in compiles if (hot := _hot_us(detail, c)) is not None]
    counts = [index.calls_of(c.id) for c in compiles]
    calls = sum(n for n in counts if n is not None) if None not in counts else None
    check_us = _mean([(hot, index.calls_of(c.id) or 0) for c, hot in timed])
    most = max(compiles, key=lambda c: index.calls_of(c.id) or 0)
    call_us, basis = _call_us(index, detail, frame, settled_ns)
    row = GuardCost(
        function=place.function,
        file=index.paths.show(place.file),
        line=place.line,
        process=index.process.id,
        entries=len(timed),
        guards=_guards(detail, most),
        check_us=round(check_us, 2) if check_us is not None else None,
        cold_check_us=most.guard_latency_us,
        calls=calls,
        checks_s=round(check_us * calls * 1e-6, 6) if check_us is not None and calls is not None else None,
        call_us=round(call_us, 2) if call_us is not None else None,
        call_basis=basis,
        share=min(1.0, round(check_us / call_us, 6)) if check_us is not None and call_us else None,
    )
    return replace(row, missing=list(_missing(index, row)))


def _missing(index: Index, row: GuardCost) -> Iterator[Missing]:
    reasons = {
        "check_us": _NO_CHECK,
        "calls": index.why_uncounted() if index.process.kind == "torch_trace" else _NO_CALLS,
        "call_us": index.why_uncounted() if index.process.kind == "torch_trace" else _NO_TIME,
        "cold_check_us": "torch did not time a check of this compile",
        "guards": "the compile did not get to its guards",
    }
    derived = {
        "checks_s": ("check_us", "calls"),
        "share": ("check_us", "call_us"),
        "call_basis": ("call_us",),
    }
    for name, reason in reasons.items():
        if getattr(row, name) is None:
            yield Missing(name, reason)
    for name, parts in derived.items():
        if getattr(row, name) is None:
            yield Missing(name, next(reasons[part] for part in parts if getattr(row, part) is None))


def _guards(detail: Detail, compiled: Compile) -> int | None:
    known = detail.guards.get(compiled.id)
    return known.count if known is not None and known.count is not None else compiled.guard_count


def _hot_us(detail: Detail, compiled: Compile) -> float | None:
    known = detail.guards.get(compiled.id)
    return known.hot_check_us if known is not None else None


def _mean(weighted: Sequence[tuple[float, int]]) -> float | None:
    """By calls; plain where nothing was called."""
    total = sum(calls for _, calls in weighted)
    if total:
        return sum(us * calls for us, calls in weighted) / total
    return sum(us for us, _ in weighted) / len(weighted) if weighted else None


def _call_us(
    index: Index, detail: Detail, frame: FrameGroup, settled_ns: int | None
) -> tuple[float | None, str | None]:
    """Time from call to call once compiling is over: as timed, else by the program's own steps, else by the
    counters.
    """
    timed = _timed_us(index, detail, frame)
    if timed is not None:
        return timed
    windows = list(_windows(index, detail, frame, settled_ns))
    steps = [us for began_ns, us in detail.pace.steps if settled_ns is None or began_ns >= settled_ns]
    if len(steps) >= FEWEST_STEPS and sum(calls for _, calls in windows) > 0:
        step_us = median(steps)
        rate = sum(ns for ns, _ in windows) * 1e-3 / sum(calls for _, calls in windows)
        per_step = max(1, round(step_us / rate))
        told = "call" if per_step == 1 else f"{per_step} calls"
        return step_us / per_step, f"measured: median of {len(steps)} steps, {told} each"
    busiest = min(
        (ns * 1e-3 / calls for ns, calls in windows if calls >= FEWEST_CALLS and ns > 0), default=None
    )
    if busiest is None:
        return None, None
    return busiest, "estimated: between two readings of the call counters, the busiest time"


def _timed_us(index: Index, detail: Detail, frame: FrameGroup) -> tuple[float, str] | None:
    """The graph and its check, where the user asked for calls to be timed. The check is outside the graph."""
    spent_us, taken = 0.0, 0
    for compiled in frame.compiles:
        for graph in index.graphs_of.get(compiled.id, ())[:1]:
            serial = -1 if graph.serial is None else graph.serial
            for times, median_us in detail.call_times.get(serial, {}).values():
                spent_us += times * (median_us + (_hot_us(detail, compiled) or 0.0))
                taken += times
    if taken < FEWEST_CALLS:
        return None
    return spent_us / taken, f"measured: medians of {taken} timed calls, and the check"


def _windows(
    index: Index, detail: Detail, frame: FrameGroup, settled_ns: int | None
) -> Iterator[tuple[int, int]]:
    """``(ns, calls)`` between readings of the counters of the frame's graphs after the last compile.

    Of several graphs of one call the first is counted.
    """
    for compiled in frame.compiles:
        graphs = [g for g in index.graphs_of.get(compiled.id, ()) if g.serial is not None]
        if not graphs or graphs[0].serial is None:
            continue
        points = list(detail.pace.points.get(graphs[0].serial, ()))
        is_last = settled_ns is not None and compiled.end_ns == settled_ns
        kept = _apart(_since(points, settled_ns, detail, is_last))
        for (began, before), (ended, after) in pairwise(kept):
            yield ended - began, after - before


def _apart(points: Sequence[Point]) -> list[Point]:
    """Readings with calls enough between them; those between are left out."""
    kept = list(points[:1])
    for point in points[1:]:
        if point[1] - kept[-1][1] >= FEWEST_CALLS:
            kept.append(point)
    return kept


def _since(points: Sequence[Point], settled_ns: int | None, detail: Detail, is_last: bool) -> list[Point]:
    """The readings after ``settled_ns``, with one at that time where its count is certain."""
    if settled_ns is None:
        return list(points)
    later = [point for point in points if point[0] >= settled_ns]
    earlier = [point for point in points if point[0] < settled_ns]
    if is_last or (detail.pace.at_compiles and earlier):
        later.insert(0, (settled_ns, 0 if is_last else earlier[-1][1]))
    return later
