"""Two symbols: sets of combinations, which are served as the dispatch serves them, against products."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.ladder import LadderProduct, Pad
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    JointLadder,
    LadderPlan,
    Limits,
    Surface,
    Traffic,
    load_traffic,
    plan_product,
    score,
    study_ladder,
)
from compilescope.ladder.planner._pad_products import pad_products
from compilescope.ladder.planner.plan import choice_of
from compilescope.ladder.planner.serve import chosen_pads

NAMES = ("batch", "length")
TRAFFIC = Path(__file__).parents[3] / "fixtures" / "traffic" / "batch_length.json"
Pair = tuple[int, int]

sizes = st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 3, 7, 8, 15, 16, 40, 200]))
calls = st.lists(sizes, min_size=1, max_size=60)
limits_of = st.builds(
    Limits,
    max_rungs=st.integers(1, 9),
    align=st.sampled_from([1, 1, 8]),
    maximum=st.none() | st.integers(150, 300),
    compile_budget_s=st.none() | st.floats(1, 20),
)


@st.composite
def costs_of(draw: st.DrawFn) -> Costs:
    grid = [(a, b) for a in (1, 4, 9) for b in (1, 16, 200)]
    costs = [float(draw(st.integers(1, 99))) + a * b for a, b in grid]
    points = ((pair, CostPoint.of(1, cost)) for pair, cost in zip(grid, costs, strict=True))
    return Costs(Surface.measured(points), compile_s=Amount.of(1.0))


def dispatched(made: LadderProduct, size: Pair) -> Pair | None:
    """The first pad that holds ``size``, where a 1 is a constant and held by a 1 alone; else with ones
    padded before the call, as few as do and to the smaller product.
    """
    for padded_ones in range(3):
        found = []
        for places in combinations([axis for axis in (0, 1) if size[axis] == 1], padded_ones):
            asked = [2 if axis in places else n for axis, n in enumerate(size)]
            for joint in made.pads():
                rung = [each.high for _, each in joint.steps]
                if all(n == m if n == 1 else n <= m for n, m in zip(asked, rung, strict=True)):
                    found.append((rung[0], rung[1]))
                    break
        if found:
            return min(found, key=lambda rung: (rung[0] * rung[1], rung))
    return None


@settings(max_examples=150, deadline=None)
@given(calls, costs_of(), limits_of)
def test_every_call_is_served_as_the_plan_says(rows: list[Pair], costs: Costs, limits: Limits) -> None:
    traffic = Traffic.of(rows, names=NAMES)
    plan = plan_product(traffic, costs, limits)
    ladder = plan.chosen.ladder
    assert isinstance(ladder, JointLadder)
    made = ladder.as_product()
    served = [dispatched(made, row) for row in rows]
    assert [ladder.padded_to(row) for row in rows] == served
    assert None not in served
    cost = costs.static.at(np.array(served)).sum() / len(rows)
    assert plan.chosen.cost == pytest.approx(cost, rel=1e-12)
    assert plan.chosen.total == pytest.approx(cost + 1e6 * len(ladder) / len(rows), rel=1e-12)
    assert all(second % limits.align == 0 for _, second in ladder.static_rungs)
    most = max(second for _, second in rows)
    assert dispatched(made, (max(first for first, _ in rows), max(most, limits.maximum or 0)))


@settings(max_examples=100, deadline=None)
@given(calls, costs_of(), limits_of, st.randoms(use_true_random=False))
def test_within_the_limits_no_worse_than_a_product_and_whatever_the_order(
    rows: list[Pair], costs: Costs, limits: Limits, draw: Any
) -> None:
    traffic = Traffic.of(rows, names=NAMES)
    plan = plan_product(traffic, costs, limits)
    assert plan.chosen.rungs <= limits.max_rungs
    assert plan.chosen.compile_s <= (limits.compile_budget_s or np.inf)
    assert all(choice.rungs <= plan.limits.max_rungs for choice in plan.by_count)
    distinct, counts = traffic.distinct()
    products, _ = pad_products(traffic, costs, plan.limits)
    rated = [choice_of(ladder, distinct, counts, costs, len(rows)) for ladder in products]
    assert plan.chosen.total <= min(choice.total for choice in rated) * (1 + 1e-12)
    shuffled = list(rows)
    draw.shuffle(shuffled)
    assert plan_product(Traffic.of(shuffled, names=NAMES), costs, limits) == plan


@given(st.sets(sizes, min_size=1, max_size=7), st.lists(sizes, min_size=1, max_size=20))
def test_many_sizes_at_once_are_served_as_one_is(pairs: set[Pair], rows: list[Pair]) -> None:
    ladder = JointLadder(NAMES, combinations=tuple(pairs))
    places = chosen_pads(ladder, np.array(rows))
    found = [ladder.combinations[place] if place < len(pairs) else None for place in places]
    assert found == [ladder.padded_to(row) for row in rows]
    assert found == [dispatched(ladder.as_product(), row) for row in rows]


def test_the_search_finds_nearly_the_best_set() -> None:
    """Against all sets of three beside the one that holds everything."""
    draw = np.random.default_rng(0)
    for _ in range(8):
        traffic = Traffic.of(draw.integers(1, [5, 13], (60, 2)), names=NAMES)
        plan = plan_product(traffic, Costs.assumed(2), Limits(max_rungs=4))
        rows, counts = traffic.distinct()
        cells = list(product(*(np.unique(rows[:, axis]).tolist() for axis in (0, 1))))
        cost, most = np.array([a * b for a, b in cells]), np.prod(rows.max(axis=0))
        holds = (np.array(cells)[None] >= rows[:, None]).all(axis=-1)
        held = np.where(
            holds & ~((rows[:, None] == 1) & (np.array(cells)[None] > 1)).any(axis=-1), cost, most
        )
        best = min(
            held[:, chosen].min(axis=1) @ counts for chosen in map(list, combinations(range(len(cells)), 3))
        )
        assert plan.chosen.cost * plan.calls <= best * 1.05


def test_a_product_that_costs_less_elsewhere_is_chosen() -> None:
    draw = np.random.default_rng(58)
    traffic = Traffic.of(draw.integers(1, 9, (40, 2)), names=NAMES)
    plan = plan_product(traffic, Costs.assumed(2), Limits(max_rungs=3))
    assert form(plan) == "product"
    assert plan.other_form is not None
    assert plan.other_form.total < plan.chosen.total


def form(plan: LadderPlan) -> str:
    assert isinstance(plan.chosen.ladder, JointLadder)
    return plan.chosen.ladder.form


def correlated(draw: np.random.Generator, calls: int) -> Any:
    length = draw.lognormal(5, 0.9, calls).astype(int).clip(1, 1000)
    batch = np.maximum(1, 2000 / length * draw.uniform(0.3, 1, calls)).astype(int).clip(1, 32)
    return np.stack([batch, length], axis=1)


def independent(draw: np.random.Generator, calls: int) -> Any:
    return np.stack([draw.integers(1, 17, calls), draw.integers(1, 300, calls)], axis=1)


def with_outliers(draw: np.random.Generator, calls: int) -> Any:
    rows = np.stack([draw.integers(1, 9, calls), draw.integers(20, 200, calls)], axis=1)
    rows[draw.choice(calls, 6, replace=False)] = draw.integers([20, 1500], [40, 3000], (6, 2))
    return rows


@pytest.mark.parametrize("kind", [correlated, independent, with_outliers])
@pytest.mark.parametrize("rungs", [6, 12, 32])
def test_what_is_chosen_costs_less_than_the_other_form_on_calls_nobody_planned_on(
    kind: Any, rungs: int
) -> None:
    traffic = Traffic.of(kind(np.random.default_rng(3), 1600), names=NAMES)
    study = study_ladder(traffic, limits=Limits(max_rungs=rungs))
    other = next(rival for rival in study.rivals if rival.name in ("best product", "best set"))
    assert study.score.cost < other.score.cost
    assert other.gain.share > 0


def test_the_recorded_traffic_of_two_sizes_gets_a_set() -> None:
    study = study_ladder(load_traffic(TRAFFIC), limits=Limits(max_rungs=8))
    assert form(study.plan) == "set"
    (best,) = [rival for rival in study.rivals if rival.name == "best product"]
    assert best.score.rungs == study.score.rungs == 8
    assert best.gain.low > 0.2
    assert any(note.startswith("combinations chosen one by one cost") for note in study.notes)
    early, late = study.traffic.halves()
    on_early = score(study.plan.chosen.ladder, early, study.costs)
    assert on_early.unserved == 0
    on_late = score(study.plan.chosen.ladder, late, study.costs)
    assert 1 + on_late.excess < (1 + on_early.excess) * 1.1


def test_a_set_is_what_the_backend_takes() -> None:
    ladder = JointLadder(NAMES, combinations=((4, 300), (64, 1), (8, 100)))
    assert len(ladder) == 3
    made = ladder.as_product()
    assert [joint.label for joint in made.pads()] == [
        "batch=<=64, length=<=1",
        "batch=<=8, length=<=100",
        "batch=<=4, length=<=300",
    ]
    assert all(isinstance(rung, Pad) for joint in made.pads() for _, rung in joint.steps)
    assert made.ranges() == made.exact() == ()
