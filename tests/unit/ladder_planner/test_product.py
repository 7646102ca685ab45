"""Two symbols: products of pads against all products, pinned pairs against all sets of pairs."""

from __future__ import annotations

from itertools import chain, combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import (
    Amount,
    Choice,
    CostPoint,
    Costs,
    Dynamic,
    JointLadder,
    LadderPlan,
    Limits,
    PlanError,
    Surface,
    Traffic,
    plan_product,
    score,
)
from compilescope.ladder.planner.rivals import PAD_RULES, Wanted, rivals_of
from compilescope.ladder.planner.serve import serve, upkeep

NAMES = ("batch", "length")
pairs = st.tuples(st.integers(1, 4), st.integers(1, 6))
traffics = st.dictionaries(pairs, st.integers(1, 9), min_size=1, max_size=6).map(
    lambda counts: Traffic.of(counts.keys(), names=NAMES, counts=counts.values())
)


@st.composite
def surfaces(draw: st.DrawFn) -> Surface:
    grid = [(a, b) for a in (1, 2, 4) for b in (1, 3, 6)]
    costs = [float(draw(st.integers(1, 50))) for _ in grid]
    return Surface.measured((pair, CostPoint.of(1, cost)) for pair, cost in zip(grid, costs, strict=True))


def total(ladder: JointLadder, traffic: Traffic, costs: Costs) -> float:
    rows, counts = traffic.distinct()
    return float(serve(ladder, rows, costs).cost @ counts) + upkeep(ladder, costs).price_us


def form_of(choice: Choice) -> str:
    assert isinstance(choice.ladder, JointLadder)
    return choice.ladder.form


def product_of(plan: LadderPlan) -> Choice:
    """The best product, chosen or not."""
    assert plan.other_form is not None
    return plan.chosen if form_of(plan.chosen) == "product" else plan.other_form


def subsets(sizes: list[int]) -> list[tuple[int, ...]]:
    """Every set of sizes that has the largest."""
    lower = chain.from_iterable(combinations(sizes[:-1], count) for count in range(len(sizes)))
    return [(*chosen, sizes[-1]) for chosen in lower]


@settings(max_examples=40, deadline=None)
@given(traffics, surfaces(), st.integers(0, 30), st.integers(1, 8), st.integers(1, 2))
def test_pads_are_the_best_product(
    traffic: Traffic, surface: Surface, price_us: int, budget: int, align: int
) -> None:
    costs = Costs(surface, compile_s=Amount.of(price_us * 1e-6))
    first = sorted(set(traffic.column("batch").tolist()))
    second = sorted({-(-size // align) * align for size in traffic.column("length").tolist()})
    every = [
        JointLadder(NAMES, (BucketLadder.pads(a), BucketLadder.pads(b)))
        for a in subsets(first)
        for b in subsets(second)
        if len(a) * len(b) <= budget
    ]
    best = min(total(ladder, traffic, costs) for ladder in every)
    plan = plan_product(traffic, costs, Limits(max_rungs=budget, align=align, pins=False))
    assert product_of(plan).total * plan.calls == pytest.approx(best, rel=1e-9)
    assert plan.chosen.total <= product_of(plan).total
    assert (plan.method == "exact") is (form_of(plan.chosen) == "product")


@settings(max_examples=40, deadline=None)
@given(traffics, surfaces(), surfaces(), st.integers(0, 30), st.integers(1, 4))
def test_pinned_pairs_are_the_best_set(
    traffic: Traffic, static: Surface, dynamic: Surface, price_us: int, budget: int
) -> None:
    costs = Costs(static, (Dynamic(dynamic),), compile_s=Amount.of(price_us * 1e-6))
    rows = [(int(a), int(b)) for a, b in traffic.distinct()[0]]
    highest = (max(a for a, _ in rows), max(b for _, b in rows))
    chosen = chain.from_iterable(combinations(rows, count) for count in range(budget))
    best = min(total(JointLadder(NAMES, pinned=pinned, highest=highest), traffic, costs) for pinned in chosen)
    plan = plan_product(traffic, costs, Limits(max_rungs=budget, pads=False))
    assert plan.chosen.total * plan.calls == pytest.approx(best, rel=1e-9)
    assert plan.pays is bool(plan.chosen.ladder.static_rungs)  # type: ignore[union-attr]


def test_many_sizes_of_both_are_a_local_search_and_say_so() -> None:
    draw = np.random.default_rng(0)
    traffic = Traffic.of(draw.integers(1, 60, (2000, 2)), names=NAMES)
    limits = Limits(max_rungs=12)
    plan = plan_product(traffic, Costs.assumed(2), limits)
    assert plan.method == "local search"
    assert plan.gap is None
    assert plan.chosen.rungs <= 12
    even = JointLadder(NAMES, (BucketLadder.pads([20, 40, 60]), BucketLadder.pads([15, 30, 45, 60])))
    assert plan.chosen.cost * plan.calls < total(even, traffic, Costs.assumed(2))


def test_the_local_search_finds_the_exact_product_of_small_traffic() -> None:
    draw = np.random.default_rng(1)
    traffic = Traffic.of(draw.integers(1, 11, (400, 2)), names=NAMES)
    exact = plan_product(traffic, Costs.assumed(2), Limits(max_rungs=6))
    with mock.patch("compilescope.ladder.planner._pad_products.MOST_ENUMERATED", 0):
        found = plan_product(traffic, Costs.assumed(2), Limits(max_rungs=6))
    assert product_of(found).cost <= product_of(exact).cost * 1.05


def test_caps_are_a_number_of_rungs() -> None:
    traffic = Traffic.of([[1, 1], [2, 5], [4, 6]], names=NAMES)
    surface = Surface.measured([((1, 1), CostPoint.of(1, 5.0)), ((4, 6), CostPoint.of(24, 90.0))])
    costs = Costs(surface, compile_s=Amount.of(1.0))
    plan = plan_product(traffic, costs, Limits(max_rungs=9, compile_budget_s=2.5), calls=1e9)
    assert plan.chosen.compile_s <= 2.5
    assert plan.limits.max_rungs == 2
    with pytest.raises(PlanError, match="not even one rung"):
        plan_product(traffic, costs, Limits(compile_budget_s=0.5))


def test_a_pinned_product_is_one_the_backend_takes() -> None:
    ladder = JointLadder(NAMES, pinned=((1, 8), (4, 2)), highest=(4, 16))
    product = ladder.as_product()
    assert product.names == NAMES
    assert [joint.label for joint in product.exact()] == ["batch=1, length=8", "batch=4, length=2"]
    assert product.ranges()


def test_a_budget_of_next_to_nothing_per_rung_is_no_limit() -> None:
    traffic = Traffic.of([[1, 1], [2, 5]], names=NAMES)
    surface = Surface.measured([((1, 1), CostPoint.of(1, 5.0)), ((4, 6), CostPoint.of(24, 90.0))])
    costs = Costs(surface, compile_s=Amount.of(5e-324))
    assert plan_product(traffic, costs, Limits(compile_budget_s=40.0)).limits.max_rungs == 8


@settings(max_examples=30, deadline=None)
@given(traffics, surfaces(), st.integers(1, 8), st.integers(1, 2))
def test_a_rival_has_the_split_of_the_rungs_that_suits_its_rule_best(
    traffic: Traffic, surface: Surface, budget: int, align: int
) -> None:
    costs = Costs(surface)
    planned = plan_product(traffic, costs, Limits(max_rungs=budget, align=align)).chosen.ladder
    for name, ladder in rivals_of(planned, traffic, costs, budget, align, None).items():
        assert isinstance(ladder, JointLadder)
        assert len(ladder) <= budget
        assert score(ladder, traffic, costs).unserved == 0
        for first in range(1, budget + 1):
            pads = [
                BucketLadder.pads(
                    PAD_RULES[name](
                        Wanted(
                            (first, budget // first)[axis],
                            int(traffic.sizes[:, axis].min()),
                            int(traffic.sizes[:, axis].max()),
                            (1, align)[axis],
                            traffic.sizes[:, axis],
                            traffic.counts,
                        )
                    )
                )
                for axis in (0, 1)
            ]
            other = JointLadder(NAMES, (pads[0], pads[1]))
            assert total(ladder, traffic, costs) <= total(other, traffic, costs) * (1 + 1e-12)
