"""A plan and what it is worth: planned on the earlier half of the traffic, scored on the later one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.drift import Drift, drift
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.interval import Gain, gain_over
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.plan import LadderPlan, has_static, plan_ladder
from compilescope.ladder.planner.plan_product import plan_product
from compilescope.ladder.planner.rivals import rivals_of
from compilescope.ladder.planner.score import Score, asked, cost_per_row, score
from compilescope.ladder.planner.serve import AnyLadder, served_sizes
from compilescope.ladder.planner.traffic import Traffic

IN_USE = "in use"
DYNAMIC = "dynamic alone"
OTHER_FORMS = {"product": "best product", "set": "best set"}


@dataclass(frozen=True, slots=True)
class Rival:
    """Another ladder on the same later half. ``gain`` is what the plan saves of its cost.

    ``same_count`` is the best planned ladder with no more rungs than it has, where the plan has not as many.
    """

    name: str
    score: Score
    gain: Gain
    same_count: Score | None


@dataclass(frozen=True, slots=True)
class Study:
    """``score`` and ``rivals`` are of the later half of the calls, which the plan has not seen.

    ``pays`` is True or False where the gain over no static rung at all is known and its interval does not
    hold zero; None otherwise.
    """

    label: str
    traffic: Traffic
    costs: Costs
    plan: LadderPlan
    score: Score
    rivals: tuple[Rival, ...]
    drifts: tuple[Drift, ...]
    early_calls: int
    late_calls: int
    pays: bool | None
    notes: tuple[str, ...]


def study_ladder(
    traffic: Traffic,
    costs: Costs | None = None,
    limits: Limits | None = None,
    *,
    calls: float | None = None,
    in_use: AnyLadder | None = None,
) -> Study:
    """Traffic of one or two symbols. Without ``costs`` a call costs its number of elements.

    ``calls`` is how many calls are to pay for the rungs (as many as the traffic has, if not given).
    Raises PlanError when no ladder meets the limits, TrafficError for fewer than two calls.
    """
    if len(traffic.names) > 2:
        raise PlanError(
            f"ladders are planned for one or two symbols, and {traffic.label!a} has {len(traffic.names)}",
            hint=f"choose with --symbol from: {', '.join(map(ascii, traffic.names))}",
        )
    costs, limits = costs or Costs.assumed(len(traffic.names)), limits or Limits()
    if costs.symbols != len(traffic.names):
        raise PlanError(f"the costs are for {costs.symbols} symbols, the traffic has {len(traffic.names)}")
    if not traffic.ordered and limits.maximum is None:  # a random half may lack the largest size by chance
        limits = replace(limits, maximum=int(traffic.sizes[:, -1].max()))
    early, late = traffic.halves()
    planner = plan_ladder if len(traffic.names) == 1 else plan_product
    plan = planner(early, costs, limits, calls=traffic.calls if calls is None else calls)
    others = _rivals(early, plan, costs, in_use)
    rivals = tuple(_rival(name, ladder, plan, late, costs) for name, ladder in others)
    return Study(
        traffic.label,
        traffic,
        costs,
        plan,
        score(plan.chosen.ladder, late, costs),
        rivals,
        drift(early, late),
        early.calls,
        late.calls,
        _pays(plan, rivals),
        tuple(_notes(traffic, costs, plan)),
    )


def _rivals(
    early: Traffic, plan: LadderPlan, costs: Costs, in_use: AnyLadder | None
) -> Iterator[tuple[str, AnyLadder]]:
    ladder, limits = plan.chosen.ladder, plan.limits
    if in_use is not None:
        yield IN_USE, in_use
    if costs.dynamic and has_static(ladder):
        yield DYNAMIC, _dynamic_alone(early, plan, costs)
    if plan.other_form is not None:
        other = plan.other_form.ladder
        assert isinstance(other, JointLadder)
        yield OTHER_FORMS[other.form], other
    rungs = plan.chosen.rungs if has_static(ladder) else limits.max_rungs
    yield from rivals_of(ladder, early, costs, rungs, limits.align, limits.maximum).items()


def _dynamic_alone(early: Traffic, plan: LadderPlan, costs: Costs) -> AnyLadder:
    """One range over everything, at the hint that serves the earlier half best."""
    highest = early.sizes.max(axis=0).tolist()
    if len(early.names) == 2:
        return JointLadder((early.names[0], early.names[1]), highest=(highest[0], highest[1]))
    top = max(highest[0], plan.limits.maximum or 0)
    hints = [dynamic.hint or int(np.median(early.sizes)) for dynamic in costs.dynamic]
    ranges = [BucketLadder.range(1, max(top, hint), hint) for hint in hints]
    return min(ranges, key=lambda ladder: score(ladder, early, costs).cost)


def _rival(name: str, ladder: AnyLadder, plan: LadderPlan, late: Traffic, costs: Costs) -> Rival:
    ours = cost_per_row(plan.chosen.ladder, late, costs)
    gain = gain_over(ours, cost_per_row(ladder, late, costs), late)
    same = None
    if len(ladder) != plan.chosen.rungs:
        fitting = [choice for choice in plan.by_count if choice.rungs <= len(ladder)]
        if fitting:
            same = score(min(fitting, key=lambda choice: choice.cost).ladder, late, costs)
    return Rival(name, score(ladder, late, costs), gain, same)


def _pays(plan: LadderPlan, rivals: tuple[Rival, ...]) -> bool | None:
    if not plan.pays:
        return plan.pays
    alone = next(rival for rival in rivals if rival.name == DYNAMIC)
    return alone.gain.low > 0 if alone.gain.is_certain else None


def with_more_calls(costs: Costs, plan: LadderPlan) -> str | None:
    """What costs less over more calls than the plan is for; None where nothing does.

    Seconds of compiling weigh little in a service, and much over the calls of a short recording.
    """
    outgrown = plan.outgrown() if costs.is_priced and plan.pays is not False else None
    if outgrown is None:
        return None
    other, calls = outgrown
    what = "one dynamic artifact" if other is plan.bare else f"{other.rungs} rungs"
    verb = "costs" if other is plan.bare else "cost"
    return (
        f"planned for {plan.calls:,.0f} calls, compile seconds included; {what} {verb} less from "
        f"{calls:,.0f} calls on: say --calls for a longer run"
    )


def _ones(traffic: Traffic, ladder: AnyLadder) -> Iterator[str]:
    """Torch makes a size of 1 a constant: nothing pads it inside the graph, a rung of 1 serves it."""
    if isinstance(ladder, JointLadder) and ladder.form == "pairs":
        return
    served = served_sizes(ladder, asked(traffic)).reshape(len(traffic.counts), -1)
    for axis in range(served.shape[1]):
        is_padded = (traffic.sizes[:, axis] == 1) & (served[:, axis] > 1)
        if is_padded.any():
            share = int(traffic.counts[is_padded].sum()) / traffic.calls
            which = "size" if served.shape[1] == 1 else ("first size", "second size")[axis]
            to = np.unique(served[is_padded, axis])
            yield (
                f"{share:.0%} of the calls have a {which} of 1, for which torch makes a graph of its own "
                f"that no rung serves: pad them to {to[0] if len(to) == 1 else 2} before the call"
            )


def _form(plan: LadderPlan) -> Iterator[str]:
    ladder, other = plan.chosen.ladder, plan.other_form
    if other is None or not isinstance(ladder, JointLadder):
        return
    less = 1 - plan.chosen.total / other.total
    if ladder.form == "set":
        yield (
            f"combinations chosen one by one cost {less:.0%} less than the best product of two ladders on "
            "the calls planned for, and less on calls left out of them: give them as only=[...]"
        )
    elif less < 0:
        yield "a set of combinations costs less on the calls planned for, but not on calls left out of them"


def _notes(traffic: Traffic, costs: Costs, plan: LadderPlan) -> Iterator[str]:
    outgrown = with_more_calls(costs, plan)
    if outgrown is not None:
        yield outgrown
    if costs.unit == "elements":
        yield "nothing was measured: the cost of a call is taken to be its number of elements"
    elif costs.static.kind == "fitted":
        yield f"the cost curve is fitted, its points lie up to {costs.static.fit_error:.0%} off it"
    if not costs.is_priced:
        most = plan.limits.max_rungs
        yield f"the seconds of a rung are not known: only the limit of {most} ends the ladder"
    if not costs.dynamic:
        yield "whether any rung pays is not known: that takes the costs of static and of dynamic artifacts"
    elif len(traffic.names) == 1 and costs.dynamic[0].hint is None:
        yield "the hint of a range is the median size it serves: the hint of the dynamic curve is not known"
    yield from _form(plan)
    yield from _ones(traffic, plan.chosen.ladder)
    if not traffic.ordered:
        yield "the order of the calls is not known: two random halves tell nothing about drift"
    if traffic.moments is not None:
        intervals = len(set(traffic.moments.tolist()))
        yield f"the order of the calls is that of {intervals} intervals; within one it is not known"
    if traffic.unseen_share is None:
        yield "how many calls came with sizes that were not seen is not known"
    elif traffic.unseen:
        yield f"{traffic.unseen_share:.0%} of the calls came with sizes that were not seen"
    if plan.method == "lagrangian":
        yield f"caps make this a knapsack, solved by Lagrangian relaxation: {plan.gap:.2%} above its bound"
    if plan.method == "local search":
        ladder = plan.chosen.ladder
        if isinstance(ladder, JointLadder) and ladder.form == "set":
            yield "combinations are exchanged one at a time until none gains, a better set may exist"
        else:
            yield "two ladders of many sizes: improved one at a time, a better product may exist"
