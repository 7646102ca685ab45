"""The plan for two symbols: a product of two ladders of pads, a set of combinations, or pinned pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from compilescope.ladder.planner._pad_products import pad_products
from compilescope.ladder.planner._pad_sets import SetProblem, best_form, by_rungs
from compilescope.ladder.planner._problem import check_kinds
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.joint import Form, JointLadder
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.plan import (
    Choice,
    LadderPlan,
    Method,
    choice_of,
    finished,
    horizon_of,
)
from compilescope.ladder.planner.traffic import Traffic


def plan_product(
    traffic: Traffic, costs: Costs, limits: Limits | None = None, *, calls: float | None = None
) -> LadderPlan:
    """The ladders of two symbols that cost least; ``max_rungs`` is the budget of combinations.

    Pinned pairs are exact. Pads are a product of two ladders, or a set of combinations where one costs less,
    for calls that were left out as well; it serves whatever the product would. Sets are a local search. A
    product is exact where one symbol has few enough ladders to try them all, else found by improving one
    ladder at a time. Alignment holds for the second symbol. Raises PlanError when nothing meets the limits,
    and for other than two symbols.
    """
    if len(traffic.names) != 2 or costs.symbols != 2:
        raise PlanError("a product is planned for traffic and costs of two symbols")
    limits, horizon = limits or Limits(), horizon_of(traffic, calls)
    check_kinds(costs, limits)
    limits = replace(limits, max_rungs=_affordable(costs, limits))
    bare = _one_range(traffic, limits) if costs.dynamic else None
    rows, counts = traffic.distinct()

    def rate(ladder: JointLadder) -> Choice:
        return choice_of(ladder, rows, counts, costs, horizon)

    alone = rate(bare) if bare else None
    found = [] if alone is None else [alone]
    if limits.pins and costs.dynamic:
        found += map(rate, _pinned_pairs(traffic, costs, limits, horizon))
    method: Method = "exact"
    other = None
    if limits.pads:
        products, is_exact = pad_products(traffic, costs, limits)
        padded, other = best_form(SetProblem.of(traffic, costs, limits), products, rate)
        found += padded
        method = "exact" if is_exact and not any(map(_is_set, padded)) else "local search"
    plan = finished(traffic, costs, limits, horizon, by_rungs(found), method, bare=alone)
    is_of_pads = other is not None and _form(plan.chosen) in ("product", "set")
    return replace(plan, other_form=other if is_of_pads else None)


def _form(choice: Choice) -> Form:
    assert isinstance(choice.ladder, JointLadder)
    return choice.ladder.form


def _is_set(choice: Choice) -> bool:
    return _form(choice) == "set"


def _one_range(traffic: Traffic, limits: Limits) -> JointLadder:
    first, second = (int(size) for size in traffic.sizes.max(axis=0))
    names = (traffic.names[0], traffic.names[1])
    return JointLadder(names, highest=(first, max(second, limits.maximum or 0)))


def _affordable(costs: Costs, limits: Limits) -> int:
    """For two symbols every rung takes the same, so that caps are a number of rungs."""
    one, most = np.ones((1, 2), np.int64), limits.max_rungs
    for budget, each in (
        (limits.compile_budget_s, float(costs.seconds(one)[0])),
        (limits.memory_budget_bytes, float(costs.bytes(one)[0])),
    ):
        if budget is not None and each > 0:
            most = int(min(most, budget / each * (1 + 1e-12)))
    if most < 1:
        raise PlanError("not even one rung fits the budget", hint="raise the budget")
    return most


def _pinned_pairs(traffic: Traffic, costs: Costs, limits: Limits, horizon: float) -> Iterator[JointLadder]:
    """The pairs that gain most, as many as gain at all; each number of them."""
    rows, counts = traffic.distinct()
    dynamic = costs.dynamic[0].model.at(rows)
    gain = (dynamic - costs.static.at(rows)) * counts * (horizon / traffic.calls)
    gain -= costs.seconds(rows) * US_PER_S
    gain[rows[:, 1] % limits.align != 0] = -1.0
    order = np.argsort(-gain, kind="stable")[: limits.max_rungs - 1]
    order = order[gain[order] > 0]
    bare = _one_range(traffic, limits)
    for count in range(1, len(order) + 1):
        pairs = sorted((int(a), int(b)) for a, b in rows[order[:count]])
        yield replace(bare, pinned=tuple(pairs))
