"""The planner against every ladder there is, for small traffic."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder, Pad, Pin, Range
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    PlanError,
    Traffic,
    plan_ladder,
)
from compilescope.ladder.planner.serve import serve, upkeep

HIGHEST = 9
sizes = st.integers(1, HIGHEST)
costs_us = st.integers(1, 60).map(float)


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    at = draw(st.sets(sizes, min_size=1, max_size=5))
    return Curve.measured(CostPoint.of(size, draw(costs_us)) for size in at)


@st.composite
def amounts(draw: st.DrawFn) -> Amount:
    seconds = st.integers(0, 40).map(lambda us: us * 1e-6)
    at = draw(st.sets(sizes, min_size=1, max_size=3))
    return Amount.of([(size, draw(seconds)) for size in at])


@st.composite
def all_costs(draw: st.DrawFn, hints: int = 2) -> Costs:
    at = sorted(draw(st.sets(sizes, max_size=hints)))
    dynamic = tuple(Dynamic(draw(curves()), hint) for hint in at)
    return Costs(draw(curves()), dynamic, draw(amounts()), draw(amounts()), draw(amounts()))


traffics = st.dictionaries(sizes, st.integers(1, 9), min_size=1, max_size=3).map(
    lambda counts: Traffic.of(counts.keys(), counts=counts.values())
)
limits_of = st.builds(
    Limits,
    max_rungs=st.integers(1, 4),
    align=st.integers(1, 3),
    pins=st.booleans(),
    pads=st.just(True),
    largest=st.none() | st.integers(4, HIGHEST),
    max_padding=st.none() | st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)


def every_ladder(traffic: Traffic, costs: Costs, limits: Limits) -> Iterator[BucketLadder]:
    distinct = traffic.distinct()[0][:, 0].tolist()
    highest = limits.largest or 12
    aligned = [size for size in range(1, highest + 1) if size % limits.align == 0]
    hints = [dynamic.hint for dynamic in costs.dynamic]
    for pads in chain.from_iterable(combinations(aligned, k) for k in range(limits.max_rungs + 1)):
        top = max(pads, default=0)
        above = [size for size in distinct if size > top]
        if len(pads) == 4 and above:
            continue
        for ways in product(["pin", *hints], repeat=len(above)):
            yield from one_ladder(pads, dict(zip(above, ways, strict=True)), top, limits)


def one_ladder(
    pads: tuple[int, ...], ways: dict[int, object], top: int, limits: Limits
) -> Iterator[BucketLadder]:
    pins = [size for size, way in ways.items() if way == "pin"]
    if pins and (not limits.pins or any(size % limits.align for size in pins)):
        return
    spans = []
    for hint in {way for way in ways.values() if way != "pin"}:
        inside = [hint, *(size for size, way in ways.items() if way == hint)]
        spans.append(Range(max(min(inside), 1), max(inside), hint))
    if any(span.low <= top for span in spans) or len(pads) + len(pins) + len(spans) > limits.max_rungs:
        return
    try:
        yield BucketLadder((*map(Pad, pads), *map(Pin, pins), *spans))
    except UsageError:  # ranges that overlap
        return


def objective(ladder: BucketLadder, traffic: Traffic, costs: Costs) -> float:
    """Cost of all calls by BucketLadder's own dispatch, one at a time, and the seconds of the rungs."""
    total = 0.0
    for row, count in zip(*traffic.distinct(), strict=True):
        size, rung = int(row[0]), ladder.serving(int(row[0]))
        if isinstance(rung, Range):
            curve = next(dynamic.model for dynamic in costs.dynamic if dynamic.hint == rung.hint)
        else:
            assert rung is not None
            curve, size = costs.static, rung.size
        total += count * float(curve.at(np.array([size]))[0])
    return total + upkeep(ladder, costs).price_us


def within(ladder: BucketLadder, traffic: Traffic, limits: Limits, costs: Costs) -> bool:
    kept = upkeep(ladder, costs)
    if limits.compile_budget_s is not None and kept.compile_s > limits.compile_budget_s * (1 + 1e-12):
        return False
    if limits.max_padding is None:
        return True
    served = ((int(row[0]), ladder.serving(int(row[0]))) for row in traffic.distinct()[0])
    return all(not isinstance(rung, Pad) or rung.size - n <= n * limits.max_padding for n, rung in served)


def best_of_all(traffic: Traffic, costs: Costs, limits: Limits) -> float | None:
    ladders = (one for one in every_ladder(traffic, costs, limits) if within(one, traffic, limits, costs))
    return min((objective(one, traffic, costs) for one in ladders), default=None)


@settings(max_examples=60, deadline=None)
@given(traffics, all_costs(), limits_of)
def test_the_plan_is_the_best_of_all_ladders(traffic: Traffic, costs: Costs, limits: Limits) -> None:
    best = best_of_all(traffic, costs, limits)
    if best is None:
        with pytest.raises(PlanError):
            plan_ladder(traffic, costs, limits)
        return
    plan = plan_ladder(traffic, costs, limits)
    ladder = plan.chosen.ladder
    assert plan.chosen.total * plan.calls == pytest.approx(best, rel=1e-9)
    assert objective(ladder, traffic, costs) == pytest.approx(best, rel=1e-9)
    assert plan.gap is None
    assert len(ladder) <= limits.max_rungs
    assert all(rung.size % limits.align == 0 for rung in (*ladder.pin_rungs, *ladder.pad_rungs))


@settings(max_examples=40, deadline=None)
@given(traffics, all_costs(hints=1), st.integers(0, 120), st.integers(1, 3))
def test_within_a_budget_the_gap_holds(traffic: Traffic, costs: Costs, budget_us: int, most: int) -> None:
    limits = Limits(max_rungs=most, compile_budget_s=budget_us * 1e-6)
    best = best_of_all(traffic, costs, limits)
    try:
        plan = plan_ladder(traffic, costs, limits)
    except PlanError:
        assert best is None
        return
    assert best is not None
    found = plan.chosen.total * plan.calls
    assert plan.chosen.compile_s <= budget_us * 1e-6 * (1 + 1e-9)
    assert found >= best * (1 - 1e-9)
    assert found * (1 - (plan.gap or 0.0)) <= best * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(
    traffics, all_costs(), st.lists(sizes, max_size=4, unique=True), st.lists(sizes, max_size=3, unique=True)
)
def test_many_sizes_are_served_as_one_is(
    traffic: Traffic, costs: Costs, pads: list[int], pins: list[int]
) -> None:
    pins = [pin for pin in pins if pin not in pads]
    ladder = BucketLadder.pads(pads) | BucketLadder.pins(pins) | BucketLadder.range(10, 12, hint=11)
    asked = np.arange(1, 14)
    served = serve(ladder, asked, costs)
    for size, kind, ran_at in zip(asked.tolist(), served.kind.tolist(), served.size.tolist(), strict=True):
        rung = ladder.serving(size)
        assert kind == (3 if rung is None else (Pin, Pad, Range).index(type(rung)))
        assert ran_at == (rung.size if isinstance(rung, Pad | Pin) else size)
