"""Whatever the traffic, costs and limits: a study that every form can write, or one of our errors."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.errors import UsageError
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    Study,
    Surface,
    Traffic,
    study_ladder,
)
from compilescope.ladder.planner.emit import FORMS
from compilescope.ladder.planner.json_form import study_json
from compilescope.ladder.planner.json_schema import study_schema
from compilescope.views import ladder_text

sizes = st.integers(1, 8) | st.integers(1, 3000) | st.sampled_from([1, 16, 2**31 - 1])
costs_us = st.floats(0.5, 1e4)
amounts = st.none() | st.floats(0, 10).map(Amount.of)
GRID = [(a, b) for a in (1, 8) for b in (4, 90, 700)]


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    make = draw(st.sampled_from([Curve.fitted, Curve.measured]))
    at = draw(st.sets(st.integers(1, 4000), min_size=1, max_size=6))
    return make([CostPoint.of(size, draw(costs_us)) for size in at])


@st.composite
def surfaces(draw: st.DrawFn) -> Surface:
    anywhere = st.sets(st.tuples(st.integers(1, 40), st.integers(1, 900)), min_size=1, max_size=6)
    pairs = draw(st.just(GRID) | anywhere.map(sorted))
    return Surface.measured((pair, CostPoint.of(1, draw(costs_us))) for pair in pairs)


@st.composite
def studies(draw: st.DrawFn) -> Any:
    two = draw(st.booleans())
    row = st.tuples(sizes, sizes).map(list) if two else sizes
    rows = draw(st.lists(row, min_size=1, max_size=12))
    traffic = Traffic.of(
        rows,
        counts=[draw(st.integers(1, 50)) for _ in rows],
        ordered=draw(st.booleans()),
        unseen=draw(st.none() | st.integers(0, 9)),
    )
    model: st.SearchStrategy[Any] = surfaces() if two else curves()
    hints = draw(st.lists(st.integers(1, 4000), max_size=1 if two else 3, unique=True))
    dynamic = tuple(Dynamic(draw(model), hint) for hint in hints)
    costs = st.builds(Costs, model, st.just(dynamic), amounts, amounts, amounts)
    return traffic, draw(st.none() | costs), draw(limits_of), draw(st.none() | st.floats(1, 1e12))


limits_of = st.builds(
    Limits,
    max_rungs=st.integers(1, 12),
    align=st.sampled_from([1, 8, 13]),
    pins=st.booleans(),
    pads=st.booleans(),
    maximum=st.none() | st.integers(1, 5000),
    largest=st.none() | st.integers(1000, 5000),
    max_padding=st.none() | st.floats(0, 3),
    compile_budget_s=st.none() | st.floats(0, 40),
    memory_budget_bytes=st.none() | st.floats(0, 40),
)


@settings(max_examples=80, deadline=None)
@given(studies())
def test_a_study_or_an_error_of_ours(case: Any) -> None:
    traffic, costs, limits, calls = case
    try:
        study = study_ladder(traffic, costs, limits, calls=calls)
    except UsageError:
        return
    written(study)
    assert study.plan.chosen.rungs <= limits.max_rungs
    kept = study.plan.chosen
    assert limits.compile_budget_s is None or kept.compile_s <= limits.compile_budget_s * (1 + 1e-9)
    assert limits.memory_budget_bytes is None or kept.memory_bytes <= limits.memory_budget_bytes * (1 + 1e-9)


def written(study: Study) -> None:
    jsonschema.Draft202012Validator(study_schema()).validate(json.loads(study_json(study)))
    assert ladder_text.render(study).endswith("\n")
    for form in FORMS.values():
        try:
            assert form(study.plan).endswith("\n")
        except UsageError:  # no pads, or two symbols for vLLM
            continue
