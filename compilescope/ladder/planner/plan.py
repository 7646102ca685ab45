"""The plan for one symbol: the best ladder, how many rungs it has, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._caps import solve_within
from compilescope.ladder.planner._problem import Problem, build
from compilescope.ladder.planner._solve import Solution
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.serve import serve, upkeep
from compilescope.ladder.planner.traffic import Traffic

_SAME = 1e-12  # relative difference below which fewer rungs win


@dataclass(frozen=True, slots=True)
class Choice:
    """The best ladder of one number of rungs.

    ``cost`` is the running cost of a call on the traffic planned for, ``total`` the same with the seconds of
    the rungs spread over the calls of the horizon, both in the unit of the costs.
    """

    ladder: BucketLadder
    cost: float
    total: float
    compile_s: float
    memory_bytes: float

    @property
    def rungs(self) -> int:
        return len(self.ladder)


@dataclass(frozen=True, slots=True)
class LadderPlan:
    """``by_count`` has the best ladder of each number of rungs; ``chosen`` is the best of all.

    ``calls`` is the horizon: how many calls pay for the rungs. ``gap`` is None where the plan is exact, else
    no ladder within the caps is better than ``chosen`` by more than this share of its total (0.01: 1 %).
    ``pays`` is False when the best is no static rung at all, None where that cannot be known because no
    dynamic cost was given. ``pays_from_calls`` is the horizon from which some static rung pays, where one
    would at last and the seconds of a rung are known.
    """

    symbol: str
    chosen: Choice
    by_count: tuple[Choice, ...]
    calls: float
    limits: Limits
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
    limits, horizon = limits or Limits(), _horizon(traffic, calls)
    rows, counts = traffic.distinct()
    problem = build(rows[:, 0], counts * (horizon / traffic.calls), costs, limits)
    within = solve_within(problem)
    by_count = tuple(_choice(problem, solution, horizon) for solution in within.solutions)
    chosen = cheapest(by_count)
    gap = None if within.bound is None else max(0.0, 1 - within.bound / (chosen.total * horizon))
    return LadderPlan(
        traffic.names[0],
        chosen,
        by_count,
        horizon,
        limits,
        gap,
        _has_static(chosen.ladder) if costs.dynamic else None,
        _pays_from(by_count) if costs.dynamic and costs.is_priced else None,
    )


def _horizon(traffic: Traffic, calls: float | None) -> float:
    if calls is None:
        return float(traffic.calls)
    if not (np.isfinite(calls) and calls > 0):
        raise PlanError(f"the number of calls must be above zero, not {calls}")
    return float(calls)


def _choice(problem: Problem, solution: Solution, horizon: float) -> Choice:
    kept = upkeep(solution.ladder, problem.costs)
    running = float(serve(solution.ladder, problem.sizes, problem.costs).cost @ problem.calls)
    total = running + kept.price_us
    return Choice(solution.ladder, running / horizon, total / horizon, kept.compile_s, kept.memory_bytes)


def cheapest(choices: tuple[Choice, ...]) -> Choice:
    """The least total; of equal ones the fewest rungs."""
    least = min(choice.total for choice in choices)
    return next(choice for choice in choices if choice.total <= least * (1 + _SAME))


def _has_static(ladder: BucketLadder) -> bool:
    return bool(ladder.pin_rungs or ladder.pad_rungs)


def _pays_from(by_count: tuple[Choice, ...]) -> float | None:
    """Calls after which the first ladder with a static rung has earned what it takes more than none."""
    bare = [choice for choice in by_count if not _has_static(choice.ladder)]
    if not bare:
        return None
    base = min(bare, key=lambda choice: choice.total)
    earned = [
        max(0.0, choice.compile_s - base.compile_s) * US_PER_S / (base.cost - choice.cost)
        for choice in by_count
        if choice.cost < base.cost * (1 - _SAME)
    ]
    return min(earned, default=None)
