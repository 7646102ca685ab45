"""A plan for few calls says from how many another one is better."""

from __future__ import annotations

import pytest

from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    Traffic,
    study_ladder,
)
from compilescope.views.ladder_text import render

SIZES = [100, 140, 150, 1100, 135] * 60
STATIC = Curve.measured([CostPoint.of(100, 90.0), CostPoint.of(1200, 200.0)])


MEASURED = Costs(STATIC, (Dynamic(STATIC, 146),), Amount.of([(146, 3.0), (1104, 1.5)]))
"""As on a GPU once: the dynamic artifact, tuned at 146, took longer to compile than the largest rung."""


def test_from_that_many_calls_on_the_other_is_chosen() -> None:
    few = study_ladder(Traffic.of(SIZES), MEASURED, Limits(align=8), calls=3000)
    assert few.plan.chosen.ladder.pad_rungs
    found = few.plan.outgrown()
    assert found is not None
    other, calls = found
    assert other.cost < few.plan.chosen.cost
    assert any(f"from {calls:,.0f} calls on" in note for note in few.notes)
    before, after = (
        study_ladder(Traffic.of(SIZES), MEASURED, Limits(align=8), calls=calls * share).plan.chosen
        for share in (0.99, 1.01)
    )
    assert before.ladder == few.plan.chosen.ladder
    assert after.cost < before.cost


def test_it_stands_below_the_ladder_and_nowhere_else() -> None:
    """Who takes a ladder for a service from a short recording reads no notes at the end of the page."""
    study = study_ladder(Traffic.of(SIZES), MEASURED, Limits(align=8), calls=3000)
    lines = render(study, width=200).splitlines()
    code = next(n for n, line in enumerate(lines) if line.startswith("    BucketLadder"))
    assert lines[code + 2].startswith("Planned for 3,000 calls, compile seconds included; ")
    assert sum("calls on" in line for line in lines) == 1


def test_the_plan_for_very_many_calls_is_outgrown_by_nothing() -> None:
    study = study_ladder(Traffic.of(SIZES), MEASURED, Limits(align=8), calls=1e15)
    assert study.plan.outgrown() is None
    assert not any("calls on" in note for note in study.notes)


@pytest.mark.parametrize("given", [Costs(STATIC), None])
def test_nothing_is_said_where_compile_seconds_are_unknown(given: Costs | None) -> None:
    assert not any("calls on" in note for note in study_ladder(Traffic.of(SIZES), given).notes)
