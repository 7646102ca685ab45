"""Buckets for sizes that a recording saw: what the bucketed backend is given when a program is tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compilescope.analysis import Report
from compilescope.analysis.traffic import traffic_from_report
from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import (
    Costs,
    Curve,
    Dynamic,
    Limits,
    PlanError,
    Traffic,
    TrafficError,
    plan_ladder,
)

# What a static artifact gains, the trial is to measure. Until then the plan takes it for this much faster.
_DYNAMIC_SLOWER = 1.1
_MOST_RUNGS = 8
_SMALLEST = 2  # sizes 0 and 1 are constants to Dynamo
_NAME = re.compile(r"^(?P<argument>[A-Za-z_]\w*)\.size\((?P<dim>\d+)\)$")
_SOURCE = re.compile(r"^L\['(?P<argument>\w+)'\]:(?P<dim>\d+)$")


@dataclass(frozen=True, slots=True)
class Buckets:
    """Static artifacts at ``pins``, one dynamic artifact for each of ``ranges`` (low, high, hint). Sizes
    outside go to a dynamic one for all.
    """

    argument: str
    dim: int
    pins: tuple[int, ...]
    ranges: tuple[tuple[int, int, int], ...]

    @property
    def name(self) -> str:
        return f"{self.argument}.size({self.dim})"

    def words(self) -> str:
        rungs = [*map(str, self.pins), *(f"{low} to {high}" for low, high, _ in self.ranges)]
        return f"buckets of {self.name}: {', '.join(rungs)}"


def planned_buckets(report: Report, sources: Iterable[str]) -> tuple[Buckets, ...]:
    """For dynamic sources such as ``L['x']:0``: of arguments alone, where sizes were counted.

    Never a padded rung: what may be padded is the program's to say.
    """
    wanted = {(m["argument"], int(m["dim"])) for s in sources if (m := _SOURCE.match(s))}
    found: dict[tuple[str, int], Buckets] = {}
    for traffic in traffic_from_report(report):
        for column, name in enumerate(traffic.names):
            match = _NAME.match(name)
            key = (match["argument"], int(match["dim"])) if match else None
            if key is None or key not in wanted or key in found:
                continue
            sizes = [int(size) for size in traffic.sizes[:, column]]
            planned = _planned(*key, sizes, [int(n) for n in traffic.counts])
            if planned is not None:
                found[key] = planned
    return tuple(found.values())


def _planned(argument: str, dim: int, sizes: Sequence[int], counts: Sequence[int]) -> Buckets | None:
    pairs = [(size, n) for size, n in zip(sizes, counts, strict=True) if size >= _SMALLEST]
    if not pairs:
        return None
    costs = Costs(Curve.proportional(), (Dynamic(Curve((), "assumed", 0.0, _DYNAMIC_SLOWER)),))
    try:
        traffic = Traffic.of([size for size, _ in pairs], counts=[n for _, n in pairs], ordered=False)
        plan = plan_ladder(traffic, costs, Limits(max_rungs=_MOST_RUNGS, pads=False))
    except (PlanError, TrafficError):
        return None
    ladder = plan.chosen.ladder
    assert isinstance(ladder, BucketLadder)
    pins = tuple(rung.size for rung in ladder.pin_rungs)
    ranges = tuple((span.low, span.high, span.hint) for span in ladder.range_rungs)
    return Buckets(argument, dim, pins, ranges) if pins else None
