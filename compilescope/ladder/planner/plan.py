"""The plan for one symbol: the best ladder, how many rungs it has, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner._caps import solve_within
from compilescope.ladder.planner._problem import build
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.serve import AnyLadder, running_cost, upkeep
from compilescope.ladder.planner.traffic import Sizes, Traffic

Method = Literal["exact", "lagrangian", "local search"]
_MANY_CALLS = 1e12
_ROUNDS = 16
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
    def price(self) -> float:
        """What its rungs cost, spread over the calls of the horizon."""
        return self.total - self.cost

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
    dynamic cost was given. ``pays_from_calls`` are the calls after which ``chosen`` has earned its rungs;
    where no rung pays, the fewest calls for which one would, None where none ever does. ``bare`` is the best
    ladder without a static rung, where dynamic costs are known. ``other_form`` is of two symbols: the best
    product where ``chosen`` is a set of combinations, else the best set, with as many rungs or fewer.
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
    bare: Choice | None = None
    other_form: Choice | None = None

    def outgrown(self) -> tuple[Choice, float] | None:
        """What costs least once more calls than ``calls`` pay for it, and from how many; None for nothing."""
        others = (*self.by_count, *((self.bare,) if self.bare is not None else ()))
        found = [
            (self.calls * (other.price - self.chosen.price) / (self.chosen.cost - other.cost), other)
            for other in others
            if other.cost < self.chosen.cost
        ]
        if not found:
            return None
        calls, other = min(found, key=lambda each: each[0])
        return other, calls


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
    by_count, bound = _planned(traffic, costs, limits, horizon)
    least = cheapest(by_count).total
    gap = None if bound is None else max(0.0, 1 - bound / least)
    method: Method = "exact" if gap is None else "lagrangian"
    bare = _bare(traffic, costs, limits, horizon) if costs.dynamic else None
    plan = finished(traffic, costs, limits, horizon, by_count, method, gap, bare)
    if bare is None or plan.pays or not costs.is_priced:
        return plan
    return replace(plan, pays_from_calls=_first_to_pay(traffic, costs, limits, bare))


def finished(
    traffic: Traffic,
    costs: Costs,
    limits: Limits,
    horizon: float,
    by_count: Sequence[Choice],
    method: Method,
    gap: float | None = None,
    bare: Choice | None = None,
) -> LadderPlan:
    """The plan around the best ladders of each count, which are there in ascending order of it.

    ``bare`` is the best ladder without a static rung, where dynamic costs are known.
    """
    chosen = cheapest(by_count)
    pays = has_static(chosen.ladder) if costs.dynamic else None
    earned = _earned_after(chosen, bare) if pays and bare and costs.is_priced else None
    return LadderPlan(
        traffic.names,
        chosen,
        tuple(_worth_showing(by_count)),
        horizon,
        limits,
        method,
        gap,
        pays,
        earned,
        bare,
    )


def _planned(
    traffic: Traffic, costs: Costs, limits: Limits, horizon: float
) -> tuple[list[Choice], float | None]:
    """The best ladder of each count, and a lower bound of the total of a call where they are not exact."""
    rows, counts = traffic.distinct()
    problem = build(rows[:, 0], counts.astype(float) * (horizon / traffic.calls), costs, limits)
    within = solve_within(problem)
    found = [choice_of(each.ladder, rows[:, 0], counts, costs, horizon) for each in within.solutions]
    return found, None if within.bound is None else within.bound / horizon


def _bare(traffic: Traffic, costs: Costs, limits: Limits, horizon: float) -> Choice:
    """The best ladder of ranges alone; caps are left out, because nothing smaller exists."""
    most = min(limits.max_rungs, len(costs.dynamic))
    alone = Limits(max_rungs=most, pins=False, pads=False, maximum=limits.maximum)
    return cheapest(_planned(traffic, costs, alone, horizon)[0])


def _earned_after(choice: Choice, bare: Choice) -> float | None:
    """Calls after which ``choice`` has earned what its rungs take longer to make than ``bare``."""
    if choice.cost >= bare.cost * (1 - _SAME):
        return None
    return max(0.0, choice.compile_s - bare.compile_s) * US_PER_S / (bare.cost - choice.cost)


def _first_to_pay(traffic: Traffic, costs: Costs, limits: Limits, bare: Choice) -> float | None:
    """The fewest calls for which a static rung pays, by Dinkelbach's iteration from many calls down."""
    calls, fewest = _MANY_CALLS, None
    for _ in range(_ROUNDS):
        best = cheapest(_planned(traffic, costs, limits, calls)[0])
        earned = _earned_after(best, bare) if has_static(best.ladder) else None
        if earned is None or (fewest is not None and earned >= fewest * (1 - _SAME)):
            break
        fewest = calls = earned
        if calls == 0:
            break
    return fewest


def horizon_of(traffic: Traffic, calls: float | None) -> float:
    if calls is None:
        return float(traffic.calls)
    if not (np.isfinite(calls) and calls > 0):
        raise PlanError(f"the number of calls must be above zero, not {calls}")
    return float(calls)


def choice_of(ladder: AnyLadder, sizes: Sizes, counts: Sizes, costs: Costs, horizon: float) -> Choice:
    """``sizes`` as the serving rules take them, ``counts`` how often each came."""
    cost = float(running_cost(ladder, sizes, costs) @ counts) / int(counts.sum())
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
