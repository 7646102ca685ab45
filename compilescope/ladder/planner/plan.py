"""The plan for one symbol: the best ladder, how many rungs it has, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._caps import solve_within
from compilescope.ladder.planner._problem import build
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.serve import AnyLadder, serve, upkeep
from compilescope.ladder.planner.traffic import Traffic

Method = Literal["exact", "lagrangian", "local search"]
_SAME = 1e-12  # relative difference below which fewer rungs win


@dataclass(frozen=True, slots=True)
class Choice:
    """The best ladder of one number of rungs.

    ``cost`` is the running cost of a call on the traffic planned for, ``total`` the same with the seconds of
    the rungs spread over the calls of the horizon, both in the unit of the costs.
    """

    ladder: AnyLadder
    cost: float
    total: float
    compile_s: float
    memory_bytes: float

    @property
    def rungs(self) -> int:
        return len(self.ladder)


@dataclass(frozen=True, slots=True)
class LadderPlan:
    """``by_count`` has the best ladder of each number of rungs that is of use; ``chosen`` is the best of all.

    ``calls`` is the horizon: how many calls pay for the rungs. ``method`` is "exact"; "lagrangian", then no
    ladder within the caps is better than ``chosen`` by more than the share ``gap`` of its total (0.01: 1 %);
    or "local search", then nothing is known about better ones.
    ``pays`` is False when the best is no static rung at all, None where that cannot be known because no
    dynamic cost was given. ``pays_from_calls`` is the horizon from which some static rung pays, where one
    would at last and the seconds of a rung are known.
    """

    symbols: tuple[str, ...]
    chosen: Choice
    by_count: tuple[Choice, ...]
    calls: float
    limits: Limits
    method: Method
    gap: float | None
    pays: bool | None
    pays_from_calls: float | None


def plan_ladder(
    traffic: Traffic, costs: Costs, limits: Limits | None = None, *, calls: float | None = None
) -> LadderPlan:
    """The ladder that costs least over ``calls`` calls of such traffic (as many as it has, if not given).

    Exact for the number of rungs and the alignment, whatever the shape of the curves; within caps by
    Lagrangian relaxation, its gap stated. Raises PlanError when no ladder meets the limits, and for
    traffic or costs of several symbols.
    """
    if len(traffic.names) > 1 or costs.symbols > 1:
        raise PlanError("this plans one symbol at a time", hint="use plan_product for two")
    limits, horizon = limits or Limits(), horizon_of(traffic, calls)
    rows, counts = traffic.distinct()
    problem = build(rows[:, 0], counts.astype(float) * (horizon / traffic.calls), costs, limits)
    within = solve_within(problem)
    by_count = [choice_of(each.ladder, traffic, costs, horizon) for each in within.solutions]
    least = cheapest(by_count).total * horizon
    gap = None if within.bound is None else max(0.0, 1 - within.bound / least)
    return finished(traffic, costs, limits, horizon, by_count, "exact" if gap is None else "lagrangian", gap)


def finished(
    traffic: Traffic,
    costs: Costs,
    limits: Limits,
    horizon: float,
    by_count: Sequence[Choice],
    method: Method,
    gap: float | None = None,
) -> LadderPlan:
    """The plan around the best ladders of each count, which are there in ascending order of it."""
    chosen = cheapest(by_count)
    by_count = _worth_showing(by_count)
    return LadderPlan(
        traffic.names,
        chosen,
        tuple(by_count),
        horizon,
        limits,
        method,
        gap,
        has_static(chosen.ladder) if costs.dynamic else None,
        _pays_from(by_count) if costs.dynamic and costs.is_priced else None,
    )


def horizon_of(traffic: Traffic, calls: float | None) -> float:
    if calls is None:
        return float(traffic.calls)
    if not (np.isfinite(calls) and calls > 0):
        raise PlanError(f"the number of calls must be above zero, not {calls}")
    return float(calls)


def choice_of(ladder: AnyLadder, traffic: Traffic, costs: Costs, horizon: float) -> Choice:
    rows, counts = traffic.distinct()
    sizes = rows[:, 0] if len(traffic.names) == 1 else rows
    cost = float(serve(ladder, sizes, costs).cost @ counts) / traffic.calls
    kept = upkeep(ladder, costs)
    return Choice(ladder, cost, cost + kept.price_us / horizon, kept.compile_s, kept.memory_bytes)


def cheapest(choices: Sequence[Choice]) -> Choice:
    """The least total; of equal ones the fewest rungs."""
    least = min(choice.total for choice in choices)
    return next(choice for choice in choices if choice.total <= least * (1 + _SAME))


def _worth_showing(choices: Sequence[Choice]) -> list[Choice]:
    """Without those that more rungs made no better in any way."""
    kept: list[Choice] = []
    for choice in choices:
        if all(choice.cost < fewer.cost or choice.total < fewer.total for fewer in kept):
            kept.append(choice)
    return kept


def has_static(ladder: AnyLadder) -> bool:
    if isinstance(ladder, BucketLadder):
        return bool(ladder.pin_rungs or ladder.pad_rungs)
    return bool(ladder.static_rungs)


def _pays_from(by_count: Sequence[Choice]) -> float | None:
    """Calls after which the first ladder with a static rung has earned what it takes more than none."""
    bare = [choice for choice in by_count if not has_static(choice.ladder)]
    if not bare:
        return None
    base = min(bare, key=lambda choice: choice.total)
    earned = [
        max(0.0, choice.compile_s - base.compile_s) * US_PER_S / (base.cost - choice.cost)
        for choice in by_count
        if choice.cost < base.cost * (1 - _SAME)
    ]
    return min(earned, default=None)
