"""What calls of a function cost by size, from the real calls that were timed while the program ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from compilescope.analysis.traffic import FrameTraffic, frame_number

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.analysis.report_run import CallTime
    from compilescope.ladder.planner import CostPoint, Costs

_FEWEST_POINTS = 2
_FEWEST_TIMED = 3
"""Of one point: of one size, or of neighboring sizes together."""
_WIDEST = 1.25
"""Largest size of a point over its smallest."""

_Timed = tuple[int, int, float]  # size, calls timed, their median in us


def sampled_costs(report: Report, found: FrameTraffic) -> tuple[Costs | None, tuple[str, ...]]:
    """The costs, None where too few calls were timed or for several symbols, and what is to be said of them.

    Where only dynamic artifacts were timed, their curve stands for the static one too: its shape is real, and
    what a static artifact saves is unknown.
    """
    if len(found.traffic.names) > 1:
        return None, ()
    from compilescope.ladder.planner import Amount, Costs, Curve, Dynamic

    timed = {artifact: _timed(report, found, artifact) for artifact in ("static", "dynamic")}
    static, dynamic = _points(timed["static"]), _points(timed["dynamic"])
    seconds = [
        graph.compile_s
        for graph in report.graphs
        if graph.compile_s is not None and not graph.backward and _is_of(found, graph.compile_id, graph.line)
    ]
    made = Amount.of(median(seconds)) if seconds else None
    if len(static) >= _FEWEST_POINTS:
        through = (Dynamic(Curve.measured(dynamic)),) if len(dynamic) >= _FEWEST_POINTS else ()
        return Costs(Curve.measured(static), through, made), (_note(static, dynamic),)
    if len(dynamic) >= _FEWEST_POINTS:
        only = "; static artifacts were not timed: their calls are taken to cost the same"
        return Costs(Curve.measured(dynamic), (), made), (_note([], dynamic) + only,)
    calls = sum(count for rows in timed.values() for _, count, _ in rows)
    return None, (_too_few(calls),) if calls else ()


def _timed(report: Report, found: FrameTraffic, artifact: str) -> list[_Timed]:
    name = found.traffic.names[0]
    every = [each for each in _times(report, found) if each.artifact == artifact and each.median_us > 0]
    return sorted(
        (each.values[name], each.timed, each.median_us) for each in every if each.values.get(name, 0) >= 1
    )


def _points(rows: Sequence[_Timed]) -> list[CostPoint]:
    """Of each size that was timed often enough, and of neighboring sizes together that were not."""
    points: list[CostPoint] = []
    pool: list[_Timed] = []
    for place, row in enumerate(rows):
        if pool and row[0] > _WIDEST * pool[0][0]:
            pool = []
        pool.append(row)
        is_last_of_size = place + 1 == len(rows) or rows[place + 1][0] != row[0]
        if is_last_of_size and sum(count for _, count, _ in pool) >= _FEWEST_TIMED:
            points.append(_point(pool))
            pool = []
    return points


def _point(rows: Sequence[_Timed]) -> CostPoint:
    """The median call of them, between the quartiles: a call that waited for a compile counts as one."""
    from compilescope.ladder.planner import CostPoint

    by_cost = sorted((us, count) for _, count, us in rows)
    low, cost, high = (_quantile(by_cost, share) for share in (0.25, 0.5, 0.75))
    calls = sum(count for _, count, _ in rows)
    return CostPoint.of(round(sum(size * count for size, count, _ in rows) / calls), cost, low, high)


def _quantile(rows: Sequence[tuple[float, int]], share: float) -> float:
    """Of ``(value, weight)`` in order: the first value that ``share`` of the weight does not exceed."""
    left = share * sum(count for _, count in rows)
    for value, count in rows:
        left -= count
        if left <= 0:
            return value
    return rows[-1][0]


def _times(report: Report, found: FrameTraffic) -> Iterator[CallTime]:
    for sizes in report.sizes or ():
        if (sizes.function, sizes.file) == (found.function, found.file) and _is_of(
            found, sizes.compile_id, sizes.line
        ):
            yield from sizes.times


def _is_of(found: FrameTraffic, compile_id: str, line: int) -> bool:
    return (frame_number(compile_id), line) == (found.frame, found.line)


def _note(static: Sequence[CostPoint], dynamic: Sequence[CostPoint]) -> str:
    return (
        f"costs are times of real calls while the program ran: static at {len(static)} sizes, "
        f"dynamic at {len(dynamic)}; sizes timed fewer than {_FEWEST_TIMED} times are taken together"
    )


def _too_few(calls: int) -> str:
    return (
        f"{calls:,} calls were timed, too few of similar sizes for a curve of costs: "
        "run longer, or with a smaller N in --time-calls"
    )
