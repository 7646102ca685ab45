"""Planned on the earlier half, scored on the later one, beside ladders nobody planned."""

from __future__ import annotations

import numpy as np
import pytest

from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    PlanError,
    Traffic,
    drift,
    score,
    study_ladder,
)
from compilescope.ladder.planner.interval import gain_over
from compilescope.ladder.planner.rivals import rivals_of

STATIC = Curve.measured([CostPoint.of(16, 60.0, 58.0, 61.0), CostPoint.of(2048, 280.0, 275.0, 290.0)])
SLOWER = Curve.measured([CostPoint.of(16, 70.0), CostPoint.of(2048, 330.0)])
MEASURED = Costs(STATIC, (Dynamic(SLOWER, 600),), Amount.of(1.5), Amount.of(0.25), Amount.of(1e6))


def bimodal(calls: int = 3000) -> Traffic:
    draw = np.random.default_rng(7)
    short = draw.normal(140, 12, calls)
    long = draw.normal(1100, 50, calls)
    return Traffic.of(np.where(draw.random(calls) < 0.7, short, long).round().astype(int))


def test_two_modes_cost_a_third_of_what_powers_of_two_waste() -> None:
    study = study_ladder(bimodal(), limits=Limits(max_rungs=5, align=8))
    rivals = {rival.name: rival for rival in study.rivals}
    assert study.score.excess < rivals["powers of two"].score.excess / 3
    assert all(rival.score.cost > study.score.cost for rival in study.rivals)
    assert all(rival.gain.low > 0 for rival in study.rivals)
    assert study.score.padding == pytest.approx(study.score.excess)
    assert not study.drifts[0].drifts


def test_the_later_half_was_not_looked_at() -> None:
    early = [100] * 500
    one, other = (study_ladder(Traffic.of(early + [size] * 500)) for size in (50, 90))
    assert one.plan.chosen.ladder == other.plan.chosen.ladder == BucketLadder.pads([100])
    assert one.score.cost == 100
    assert one.drifts[0].drifts
    assert one.drifts[0].statistic == 1.0
    assert (one.drifts[0].early_median, one.drifts[0].late_median) == (100, 50)


def test_sizes_above_every_rung_are_counted() -> None:
    study = study_ladder(Traffic.of([10] * 50 + [30] * 50))
    assert study.score.unserved == 50
    assert study.score.idle == 1
    assert study_ladder(Traffic.of([10] * 50 + [30] * 50), limits=Limits(maximum=30)).score.unserved == 0


def test_no_rung_pays_until_enough_calls_do() -> None:
    few = study_ladder(bimodal(), MEASURED, calls=3000)
    assert few.plan.pays is few.pays is False
    assert len(few.plan.chosen.ladder) == 1
    start = few.plan.pays_from_calls
    assert start is not None
    assert study_ladder(bimodal(), MEASURED, calls=start * 0.99).plan.pays is False
    enough = study_ladder(bimodal(), MEASURED, calls=start * 1.01)
    assert enough.plan.pays is enough.pays is True


def test_no_rung_ever_pays_when_static_is_no_faster() -> None:
    equal = Costs(STATIC, (Dynamic(STATIC, 600),), Amount.of(0.0))
    study = study_ladder(bimodal(), equal, Limits(align=8), calls=1e12)
    assert study.pays is False
    assert study.plan.pays_from_calls is None


def test_whether_a_rung_pays_is_unknown_without_a_dynamic_cost() -> None:
    study = study_ladder(bimodal(), Costs(STATIC))
    assert study.pays is study.plan.pays is None
    assert any("whether any rung pays is not known" in note for note in study.notes)
    with pytest.raises(PlanError, match="that was not measured"):
        study_ladder(bimodal(), Costs(STATIC), Limits(pads=False))


def test_rivals_have_as_many_rungs() -> None:
    study = study_ladder(bimodal(), limits=Limits(max_rungs=4))
    assert {rival.name: rival.score.rungs for rival in study.rivals} == {
        "powers of two": 4,
        "multiples": 4,
        "quantiles": 4,
        "vLLM's default": 4,
    }
    pinned = study_ladder(bimodal(), MEASURED, Limits(max_rungs=4, pads=False), calls=1e10)
    assert pinned.score.padding == 0
    assert {rival.score.rungs for rival in pinned.rivals if rival.name != "dynamic alone"} == {4}
    used = study_ladder(bimodal(), in_use=BucketLadder.pads([256, 2048]), limits=Limits(max_rungs=4))
    in_use = next(rival for rival in used.rivals if rival.name == "in use")
    assert in_use.same_count is not None
    assert in_use.same_count.rungs == 2
    assert in_use.same_count.cost < in_use.score.cost


@pytest.mark.parametrize("rungs", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("sizes", [[1], [5, 9], [200, 250], [3, 70, 1000], [38_000, 65_000], [2047, 2048]])
@pytest.mark.parametrize("align", [1, 8])
def test_every_rival_serves_the_traffic_it_is_made_for(rungs: int, sizes: list[int], align: int) -> None:
    traffic = Traffic.of(sizes)
    for name, ladder in rivals_of(
        BucketLadder.pads([1]), traffic, Costs.assumed(), rungs, align, None
    ).items():
        assert 1 <= len(ladder) <= rungs, name
        assert score(ladder, traffic, Costs.assumed()).unserved == 0, name
    span = BucketLadder.range(1, 70_000, hint=7)
    for name, ladder in rivals_of(span, traffic, Costs.assumed(), rungs, align, None).items():
        assert score(ladder, traffic, MEASURED).unserved == 0, name


def test_vllms_rule_is_its_own_when_nothing_has_to_go() -> None:
    ladder = rivals_of(BucketLadder.pads([1]), Traffic.of([1, 512]), Costs.assumed(), 1000, 1, None)[
        "vLLM's default"
    ]
    expected = [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    assert [rung.tuned_at for rung in ladder] == expected  # type: ignore[union-attr]


def test_the_interval_is_wider_where_neighbors_are_alike() -> None:
    draw = np.random.default_rng(0)
    slow = np.repeat(draw.random(60), 50)
    traffic = Traffic.of(np.ones(3000, int))
    lumpy = gain_over(slow, np.ones(3000), traffic)
    mixed = gain_over(draw.permutation(slow), np.ones(3000), traffic)
    assert lumpy.share == pytest.approx(mixed.share)
    assert lumpy.high - lumpy.low > 2 * (mixed.high - mixed.low)
    assert lumpy.low < lumpy.share < lumpy.high
    assert gain_over(slow, np.ones(3000), traffic) == lumpy


def test_a_gain_over_itself_is_nothing() -> None:
    cost = np.random.default_rng(0).random(100)
    gain = gain_over(cost, cost, Traffic.of(np.ones(100, int)))
    assert gain.share == pytest.approx(0)
    assert not gain.is_certain


def test_unordered_counts_weigh_as_single_calls_do() -> None:
    counted = Traffic.of([1, 2], counts=[400, 600], ordered=False)
    gain = gain_over(np.array([1.0, 2.0]), np.array([2.0, 2.0]), counted)
    assert gain.share == pytest.approx(0.2)
    assert 0.15 < gain.low < 0.2 < gain.high < 0.25


def test_equal_halves_do_not_drift() -> None:
    half = Traffic.of([[1, 5], [2, 9]] * 100)
    assert [(found.statistic, found.drifts) for found in drift(half, half)] == [(0.0, False)] * 2


def test_what_was_measured_and_what_was_not() -> None:
    traffic = Traffic.of([16, 16, 100, 4096])
    found = score(BucketLadder.pins([16, 100, 4096]), traffic, MEASURED)
    assert (found.measured, found.beyond) == (0.5, 0.25)
    assert found.low < found.cost < found.high
    assert found.compile_s == pytest.approx(3 * 1.75)
    assert found.memory_bytes == 3e6


def test_a_third_symbol_has_to_be_left_out() -> None:
    with pytest.raises(PlanError, match="one or two symbols") as raised:
        study_ladder(Traffic.of([[1, 2, 3], [2, 3, 4]], names=["a", "b", "c"]))
    assert raised.value.hint is not None
    assert "'a', 'b', 'c'" in raised.value.hint
    with pytest.raises(PlanError, match="costs are for 1"):
        study_ladder(Traffic.of([[1, 2], [2, 3]]), Costs.assumed())


def test_budgets_need_to_know_what_a_rung_takes() -> None:
    with pytest.raises(PlanError, match="seconds of a rung"):
        study_ladder(bimodal(), limits=Limits(compile_budget_s=3))
    with pytest.raises(PlanError, match="bytes of a rung"):
        study_ladder(bimodal(), Costs(STATIC), Limits(memory_budget_bytes=3))


def test_both_caps_hold_and_the_gap_is_stated() -> None:
    costs = Costs(
        STATIC,
        (Dynamic(SLOWER, 600),),
        Amount.of([(16, 1.0), (2048, 6.0)]),
        memory_bytes=Amount.of([(16, 1e5), (2048, 9e6)]),
    )
    limits = Limits(align=8, compile_budget_s=14.0, memory_budget_bytes=1.5e7)
    study = study_ladder(bimodal(), costs, limits, calls=1e9)
    chosen = study.plan.chosen
    assert chosen.compile_s <= 14.0
    assert chosen.memory_bytes <= 1.5e7
    assert study.plan.method == "lagrangian"
    assert study.plan.gap is not None
    assert 0 <= study.plan.gap < 0.05
    assert any("Lagrangian" in note for note in study.notes)
    free = study_ladder(bimodal(), costs, Limits(align=8), calls=1e9).plan
    assert free.chosen.total <= chosen.total
    assert free.chosen.compile_s > 14.0


def test_a_huge_size_is_no_huge_list() -> None:
    ladder = rivals_of(BucketLadder.pads([1]), Traffic.of([1, 2**31 - 1]), Costs.assumed(), 4, 1, None)[
        "vLLM's default"
    ]
    assert len(ladder) == 4
    assert score(ladder, Traffic.of([2**31 - 1]), Costs.assumed()).unserved == 0


def test_a_size_of_one_that_would_have_to_be_padded_is_said() -> None:
    """Torch makes it a constant, and the rungs above do not serve it."""

    def said(sizes: list[int], rungs: int) -> list[str]:
        study = study_ladder(Traffic.of(sizes * 20), limits=Limits(max_rungs=rungs))
        return [note for note in study.notes if "of 1," in note]

    (note,) = said([1, 7, 8, 8], 1)
    assert note.startswith("25% of the calls have a size of 1")
    assert "pad them to 8 before the call" in note
    assert not said([1, 7, 8, 8], 2)
    assert not said([2, 7, 8, 8], 1)
    pairs = Traffic.of([[1, 1], [4, 8], [2, 1]] * 20, names=["batch", "length"])
    notes = study_ladder(pairs, limits=Limits(max_rungs=2)).notes
    assert [note.split(",")[0] for note in notes if "of 1," in note] == [
        "33% of the calls have a first size of 1"
    ]
