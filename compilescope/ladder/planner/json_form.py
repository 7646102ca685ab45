"""A study as JSON, for other tools: names do not change, what is unknown is null."""

from __future__ import annotations

import json
import math
from typing import Any

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.emit import ladder_code
from compilescope.ladder.planner.histogram import histograms
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.plan import Choice, LadderPlan
from compilescope.ladder.planner.score import Score
from compilescope.ladder.planner.serve import AnyLadder
from compilescope.ladder.planner.study import Rival, Study

FORMAT_VERSION = 1


def study_json(study: Study) -> str:
    """ASCII, ended by a newline; equal studies give equal bytes."""
    return json.dumps(_finite(as_object(study)), indent=2, allow_nan=False) + "\n"


def as_object(study: Study) -> dict[str, Any]:
    traffic, costs = study.traffic, study.costs
    return {
        "format_version": FORMAT_VERSION,
        "traffic": {
            "label": study.label,
            "symbols": list(traffic.names),
            "calls": traffic.calls,
            "early_calls": study.early_calls,
            "late_calls": study.late_calls,
            "ordered": traffic.ordered,
            "unseen": traffic.unseen,
            "unseen_share": traffic.unseen_share,
            "histograms": [_histogram(each) for each in histograms(traffic, study.plan.chosen.ladder)],
            "drift": [_drift(each) for each in study.drifts],
        },
        "costs": {
            "unit": costs.unit,
            "static": costs.static.kind,
            "dynamic_hints": [dynamic.hint for dynamic in costs.dynamic],
            "seconds_known": costs.is_priced,
            "memory_known": costs.memory_bytes is not None,
        },
        "plan": _plan(study.plan, costs),
        "score": _score(study.score, costs),
        "rivals": [_rival(rival, costs) for rival in study.rivals],
        "pays": study.pays,
        "notes": list(study.notes),
    }


def _plan(plan: LadderPlan, costs: Costs) -> dict[str, Any]:
    return {
        "method": plan.method,
        "gap": plan.gap,
        "horizon_calls": plan.calls,
        "limits": _limits(plan.limits),
        "chosen": _choice(plan.chosen, costs),
        "code": ladder_code(plan),
        "by_count": [_choice(choice, costs) for choice in plan.by_count],
        "pays": plan.pays,
        "pays_from_calls": plan.pays_from_calls,
    }


def _limits(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in Limits.__dataclass_fields__}


def _choice(choice: Choice, costs: Costs) -> dict[str, Any]:
    return {
        "rungs": choice.rungs,
        "ladder": ladder_object(choice.ladder),
        "cost": choice.cost,
        "total": choice.total,
        **_kept(choice, costs),
    }


def _score(score: Score, costs: Costs) -> dict[str, Any]:
    plain = ("rungs", "cost", "low", "high", "excess", "padding", "unserved", "idle", "measured", "beyond")
    return {
        "ladder": ladder_object(score.ladder),
        **{name: getattr(score, name) for name in plain},
        **_kept(score, costs),
    }


def _kept(of: Choice | Score, costs: Costs) -> dict[str, Any]:
    return {
        "compile_s": of.compile_s if costs.is_priced else None,
        "memory_bytes": of.memory_bytes if costs.memory_bytes is not None else None,
    }


def _rival(rival: Rival, costs: Costs) -> dict[str, Any]:
    return {
        "name": rival.name,
        "score": _score(rival.score, costs),
        "gain": {"share": rival.gain.share, "low": rival.gain.low, "high": rival.gain.high},
        "same_count": None if rival.same_count is None else _score(rival.same_count, costs),
    }


def ladder_object(ladder: AnyLadder) -> dict[str, Any]:
    """One symbol: pins, pads, ranges. Two: pads by symbol; or combinations that sizes are padded up to, in
    the order in which they are asked; or pinned pairs and how far the range goes.
    """
    if isinstance(ladder, BucketLadder):
        return {
            "pins": [rung.size for rung in ladder.pin_rungs],
            "pads": [rung.size for rung in ladder.pad_rungs],
            "ranges": [{"low": r.low, "high": r.high, "hint": r.hint} for r in ladder.range_rungs],
        }
    if ladder.pads is not None:
        rows = zip(ladder.names, ladder.pads, strict=True)
        return {"pads_by_symbol": {name: [pad.size for pad in each.pad_rungs] for name, each in rows}}
    if ladder.combinations:
        return {"combinations": [list(pair) for pair in ladder.combinations]}
    highest = None if ladder.highest is None else list(ladder.highest)
    return {"pairs": [list(pair) for pair in ladder.pinned], "range_up_to": highest}


def _histogram(histogram: Any) -> dict[str, Any]:
    bars = [
        {"low": bar.low, "high": bar.high, "calls": bar.calls, "rungs": list(bar.rungs)}
        for bar in histogram.bars
    ]
    return {"symbol": histogram.symbol, "bars": bars}


def _drift(drift: Any) -> dict[str, Any]:
    return {
        "symbol": drift.symbol,
        "statistic_name": "two-sample Kolmogorov-Smirnov",
        "statistic": drift.statistic,
        "critical": drift.critical,
        "drifts": drift.drifts,
        "early_median": drift.early_median,
        "late_median": drift.late_median,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, str):  # a lone surrogate, which strict parsers refuse
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return None if isinstance(value, float) and not math.isfinite(value) else value
