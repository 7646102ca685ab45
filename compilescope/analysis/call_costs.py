"""What calls of a function cost by size, from the real calls that were timed while the program ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from compilescope.analysis.traffic import FrameTraffic, frame_number

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.analysis.report_run import CallTime
    from compilescope.ladder.planner import CostPoint, Costs

_FEWEST_SIZES = 2
_FEWEST_TIMED = 3  # of one size


def sampled_costs(report: Report, found: FrameTraffic) -> tuple[Costs, str] | None:
    """The costs and how they came about; None where too few sizes were timed, or for several symbols.

    Where only dynamic artifacts were timed, their curve stands for the static one too: its shape is real, and
    what a static artifact saves is unknown.
    """
    if len(found.traffic.names) > 1:
        return None
    from compilescope.ladder.planner import Amount, Costs, Curve, Dynamic

    static, dynamic = (_points(report, found, artifact) for artifact in ("static", "dynamic"))
    seconds = [
        graph.compile_s
        for graph in report.graphs
        if graph.compile_s is not None and not graph.backward and _is_of(found, graph.compile_id, graph.line)
    ]
    made = Amount.of(median(seconds)) if seconds else None
    if len(static) >= _FEWEST_SIZES:
        through = (Dynamic(Curve.measured(dynamic)),) if len(dynamic) >= _FEWEST_SIZES else ()
        return Costs(Curve.measured(static), through, made), _note(len(static), len(dynamic))
    if len(dynamic) >= _FEWEST_SIZES:
        only = "; static artifacts were not timed: their calls are taken to cost the same"
        return Costs(Curve.measured(dynamic), (), made), _note(0, len(dynamic)) + only
    return None


def _points(report: Report, found: FrameTraffic, artifact: str) -> list[CostPoint]:
    times: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for each in _times(report, found):
        size = each.values.get(found.traffic.names[0])
        if size is not None and size >= 1 and each.artifact == artifact and each.median_us > 0:
            times[size].append((each.timed, each.median_us))
    enough = {size: rows for size, rows in times.items() if sum(n for n, _ in rows) >= _FEWEST_TIMED}
    return [_point(size, rows) for size, rows in enough.items()]


def _point(size: int, rows: Sequence[tuple[int, float]]) -> CostPoint:
    """From (calls timed, median) of several processes: their mean, and from the least to the most."""
    from compilescope.ladder.planner import CostPoint

    mean = sum(n * us for n, us in rows) / sum(n for n, _ in rows)
    least, most = min(us for _, us in rows), max(us for _, us in rows)
    return CostPoint.of(size, min(max(mean, least), most), least, most)


def _times(report: Report, found: FrameTraffic) -> Iterator[CallTime]:
    for sizes in report.sizes or ():
        if (sizes.function, sizes.file) == (found.function, found.file) and _is_of(
            found, sizes.compile_id, sizes.line
        ):
            yield from sizes.times


def _is_of(found: FrameTraffic, compile_id: str, line: int) -> bool:
    return (frame_number(compile_id), line) == (found.frame, found.line)


def _note(static: int, dynamic: int) -> str:
    return (
        f"costs are times of real calls while the program ran: static at {static} sizes, dynamic at {dynamic}"
    )
