"""Planned ladders of a report: a compact form of what ``compilescope ladder`` says at length."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from compilescope.analysis import lengths
from compilescope.analysis.report_ladder import (
    Ladder,
    LadderBar,
    LadderCost,
    LadderCount,
    LadderDrift,
    LadderHistogram,
    LadderRange,
    LadderRival,
)
from compilescope.errors import CompileScopeError

if TYPE_CHECKING:
    from compilescope.analysis.report import FrameSizes, Report
    from compilescope.analysis.traffic import FrameTraffic
    from compilescope.ladder.planner import Costs, Limits, Rival, Study

CPU_S = 0.5  # what the plans of one report may take; a single one is never cut off
_FEWEST_CALLS = 8
_MOST_SIZES = 4000  # distinct ones of a plan that still is a matter of a tenth of a second
_CURVE_POINTS = 24


def ladders(report: Report, *, cpu_s: float = CPU_S, more: dict[str, int] | None = None) -> list[Ladder]:
    """One for each function whose sizes changed, most calls first, until ``cpu_s`` is used up. How many were
    not looked at for that is put into ``more``.

    Numpy is loaded only when there is something to plan.
    """
    if not any(map(_is_worth_it, report.sizes)):
        return []
    from compilescope.analysis.traffic import frames_with_traffic

    started = time.process_time()
    found: list[Ladder] = []
    worth_it = [each for each in frames_with_traffic(report) if each.traffic.calls >= _FEWEST_CALLS]
    for number, each in enumerate(worth_it):
        if number >= lengths.LADDERS or time.process_time() - started > cpu_s:
            if more is not None:
                more["ladders"] = len(worth_it) - number
            break
        study = plan_of(report, each)
        if study is not None:
            found.append(compact(study))
    return found


def plan_of(report: Report, found: FrameTraffic, limits: Limits | None = None) -> Study | None:
    """The plan for one function, with the limits the command has by itself. None where none can be made.

    Costs are those of the calls that were timed, else assumed. Of more than two symbols the one with the most
    different sizes is planned.
    """
    from compilescope.analysis.call_costs import sampled_costs
    from compilescope.ladder.planner import study_ladder

    names, traffic = found.traffic.names, found.traffic
    if len(names) > 2:
        found = found.only([max(names, key=lambda name: len(set(traffic.column(name).tolist())))])
    if len(found.traffic.distinct()[0]) > _MOST_SIZES:
        return None
    costs, notes = sampled_costs(report, found)
    try:
        study = study_ladder(found.traffic, costs, limits)
    except CompileScopeError:
        return None
    return replace(study, notes=(*notes, *study.notes))


def compact(study: Study) -> Ladder:
    """The numbers of a study, rounded."""
    from compilescope.ladder.planner.histogram import histograms
    from compilescope.ladder.planner.json_form import ladder_object

    plan, score, traffic, costs = study.plan, study.score, study.traffic, study.costs
    ladder = ladder_object(plan.chosen.ladder)
    function, _, place = traffic.label.partition(" ")
    file, _, line = place.rpartition(":")
    bars = histograms(traffic, plan.chosen.ladder)
    return Ladder(
        function=function,
        file=file,
        line=int(line) if line.isdigit() else 0,
        symbols=list(traffic.names),
        calls=traffic.calls,
        ordered=traffic.ordered,
        unseen_share=None if traffic.unseen_share is None else round(traffic.unseen_share, 6),
        code=_code(study),
        pins=ladder.get("pins", []),
        pads=ladder.get("pads", []),
        ranges=[LadderRange(each["low"], each["high"], each["hint"]) for each in ladder.get("ranges", [])],
        products=ladder.get("pads_by_symbol", {}),
        combinations=ladder.get("combinations", []),
        unit=costs.unit,
        basis=costs.static.kind,
        method=plan.method,
        rungs=plan.chosen.rungs,
        cost=round(score.cost, 4),
        excess=round(score.excess, 6),
        padding=round(score.padding, 6),
        compile_s=round(score.compile_s, 4) if costs.is_priced else None,
        pays=study.pays,
        pays_from_calls=plan.pays_from_calls,
        drift=[
            LadderDrift(each.symbol, each.early_median, each.late_median)
            for each in study.drifts
            if each.drifts
        ],
        histograms=[
            LadderHistogram(
                each.symbol, [LadderBar(bar.low, bar.high, bar.calls, list(bar.rungs)) for bar in each.bars]
            )
            for each in bars
        ],
        curve=curve_of(study),
        by_count=[
            LadderCount(each.rungs, round(each.cost, 4), round(each.total, 4), each is plan.chosen)
            for each in plan.by_count
        ],
        rivals=[_rival(each, costs) for each in study.rivals],
        notes=list(study.notes),
    )


def curve_of(study: Study) -> list[LadderCost]:
    """Cost over size of one symbol: what was measured, and points of the curve between. Empty for two."""
    import numpy as np

    from compilescope.ladder.planner.curve import Curve

    if len(study.traffic.names) > 1:
        return []
    sizes = study.traffic.sizes[:, 0]
    drawn = np.unique(np.linspace(int(sizes.min()), int(sizes.max()), _CURVE_POINTS).astype(np.int64))
    found: list[LadderCost] = []
    models = [("static", study.costs.static), *(("dynamic", each.model) for each in study.costs.dynamic)]
    for artifact, curve in models:
        if not isinstance(curve, Curve):
            continue
        measured = {point.size for point in curve.points}
        at = np.unique(np.concatenate([drawn, np.array(sorted(measured), np.int64)]))
        lows, highs = curve.interval(at)
        rows = zip(at.tolist(), curve.at(at).tolist(), lows.tolist(), highs.tolist(), strict=True)
        found += [
            LadderCost(size, round(cost, 4), round(low, 4), round(high, 4), artifact, size in measured)
            for size, cost, low, high in rows
        ]
    return found


def _code(study: Study) -> str:
    from compilescope.ladder.planner.emit import ladder_code

    return ladder_code(study.plan)


def _rival(rival: Rival, costs: Costs) -> LadderRival:
    score, gain = rival.score, rival.gain
    made = round(score.compile_s, 4) if costs.is_priced else None
    gains = (round(share, 6) for share in (gain.share, gain.low, gain.high))
    return LadderRival(rival.name, score.rungs, round(score.cost, 4), round(score.padding, 6), made, *gains)


def _is_worth_it(sizes: FrameSizes) -> bool:
    return sizes.rows_count > 1 and sizes.seen_calls >= _FEWEST_CALLS
