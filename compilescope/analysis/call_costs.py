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
_WELL_TIMED = 30
"""Calls of one size from which it is believed to cost more than a larger one."""

_Timed = tuple[int, int, float]  # size, calls timed, their median in us
_Pool = list[_Timed]  # of one point
_Level = list[_Pool]  # of one cost


def sampled_costs(report: Report, found: FrameTraffic) -> tuple[Costs | None, tuple[str, ...]]:
    """The costs, None where too few calls were timed or for several symbols, and what is to be said of them.

    Where only dynamic artifacts were timed, their curve stands for the static one too: its shape is real, and
    what a static artifact saves is unknown.
    """
    if len(found.traffic.names) > 1:
        return None, ()
    from compilescope.ladder.planner import Amount, Costs, Curve, Dynamic

    timed = {artifact: _timed(report, found, artifact) for artifact in ("static", "dynamic")}
    levels = {artifact: _levels(_pools(rows)) for artifact, rows in timed.items()}
    static, dynamic = _points(levels["static"]), _points(levels["dynamic"])
    note = _note(levels["static"], levels["dynamic"])
    seconds = [
        graph.compile_s
        for graph in report.graphs
        if graph.compile_s is not None and not graph.backward and _is_of(found, graph.compile_id, graph.line)
    ]
    made = Amount.of(median(seconds)) if seconds else None
    if len(static) >= _FEWEST_POINTS:
        through = (Dynamic(Curve.measured(dynamic)),) if len(dynamic) >= _FEWEST_POINTS else ()
        return Costs(Curve.measured(static), through, made), (note,)
    if len(dynamic) >= _FEWEST_POINTS:
        only = "; static artifacts were not timed: their calls are taken to cost the same"
        return Costs(Curve.measured(dynamic), (), made), (note + only,)
    calls = sum(count for rows in timed.values() for _, count, _ in rows)
    return None, (_too_few(calls),) if calls else ()


def _timed(report: Report, found: FrameTraffic, artifact: str) -> list[_Timed]:
    """By the size that was computed: a padded call takes as long as one of its rung's size."""
    name = found.traffic.names[0]
    every = [each for each in _times(report, found) if each.artifact == artifact and each.median_us > 0]
    sizes = ((each, (each.padded_to or each.values).get(name, 0)) for each in every)
    return sorted((size, each.timed, each.median_us) for each, size in sizes if size >= 1)


def _pools(rows: Sequence[_Timed]) -> list[_Pool]:
    """Each size that was timed often enough, and neighboring sizes together that were not."""
    pools: list[_Pool] = []
    pool: _Pool = []
    for place, row in enumerate(rows):
        if pool and row[0] > _WIDEST * pool[0][0]:
            pool = []
        pool.append(row)
        is_last_of_size = place + 1 == len(rows) or rows[place + 1][0] != row[0]
        if is_last_of_size and _calls(pool) >= _FEWEST_TIMED:
            pools.append(pool)
            pool = []
    return pools


def _levels(pools: Sequence[_Pool]) -> list[_Level]:
    """Each pool by itself, and neighbors together of which a smaller one took longer.

    The first calls at a size load kernels and look for the best one, and calls wait for whatever else the
    host does: a ladder would seem to gain by padding such sizes up.
    """
    levels: list[_Level] = []
    for pool in pools:
        levels.append([pool])
        while len(levels) > 1 and _is_noise(levels[-2], levels[-1]):
            above = levels.pop()
            levels[-1] = levels[-1] + above
    return levels


def _is_noise(smaller: _Level, larger: _Level) -> bool:
    """Whether the smaller sizes took longer, and that is not to be believed."""
    low, cost, _ = _quartiles(_rows(smaller))
    _, cost_above, high_above = _quartiles(_rows(larger))
    if cost <= cost_above:
        return False
    return low <= high_above or not (_is_well_timed(smaller) and _is_well_timed(larger))


def _is_well_timed(level: _Level) -> bool:
    rows = _rows(level)
    return len({size for size, _, _ in rows}) == 1 and _calls(rows) >= _WELL_TIMED


def _points(levels: Sequence[_Level]) -> list[CostPoint]:
    """The median call of a level, at both its ends, between the quartiles: one that waited counts as one."""
    from compilescope.ladder.planner import CostPoint

    points: list[CostPoint] = []
    for level in levels:
        low, cost, high = _quartiles(_rows(level))
        ends = dict.fromkeys((_size(level[0]), _size(level[-1])))
        points += [CostPoint.of(size, cost, low, high) for size in ends]
    return points


def _rows(level: _Level) -> _Pool:
    return [row for pool in level for row in pool]


def _size(pool: _Pool) -> int:
    return round(sum(size * count for size, count, _ in pool) / _calls(pool))


def _calls(pool: _Pool) -> int:
    return sum(count for _, count, _ in pool)


def _quartiles(pool: _Pool) -> tuple[float, float, float]:
    by_cost = sorted((us, count) for _, count, us in pool)
    low, cost, high = (_quantile(by_cost, share) for share in (0.25, 0.5, 0.75))
    return low, cost, high


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


def _note(static: Sequence[_Level], dynamic: Sequence[_Level]) -> str:
    counts = [sum(map(len, levels)) for levels in (static, dynamic)]
    told = (
        f"costs are times of real calls while the program ran: static at {counts[0]} sizes, "
        f"dynamic at {counts[1]}; sizes timed fewer than {_FEWEST_TIMED} times are taken together"
    )
    if any(len(level) > 1 for level in (*static, *dynamic)):
        told += ", as are neighbors of which a smaller one took longer"
    return told


def _too_few(calls: int) -> str:
    return (
        f"{calls:,} calls were timed, too few of similar sizes, or of too few sizes of one kind of artifact, "
        "for a curve of costs: run longer, or with a smaller N in --time-calls"
    )
