from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.ladder.planner import (
    Amount,
    CostError,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Surface,
    load_costs,
)

POINTS = [CostPoint.of(10, 50.0, 48.0, 54.0), CostPoint.of(20, 40.0), CostPoint.of(40, 80.0)]


def test_a_measured_curve_goes_through_its_points_and_says_what_lies_between() -> None:
    curve = Curve.measured(POINTS)
    sizes = np.array([5, 10, 15, 20, 30, 40, 50])
    assert curve.at(sizes).tolist() == [50, 50, 45, 40, 60, 80, 100]
    assert curve.is_measured(sizes).tolist() == [False, True, False, True, False, True, False]
    assert curve.is_inside(sizes).tolist() == [False, True, True, True, True, True, False]
    low, high = curve.interval(np.array([10, 15]))
    assert low.tolist() == [48, 44]
    assert high.tolist() == [54, 47]


def test_one_point_goes_on_in_proportion() -> None:
    assert Curve.measured([POINTS[0]]).at(np.array([1, 10, 20])).tolist() == [50, 50, 100]


@given(st.floats(0, 100), st.floats(0.01, 10), st.sets(st.integers(1, 5000), min_size=2, max_size=8))
def test_a_fit_finds_the_line_its_points_lie_on(base: float, slope: float, sizes: set[int]) -> None:
    curve = Curve.fitted(CostPoint.of(size, base + slope * size) for size in sizes)
    asked = np.array(sorted(sizes))
    assert curve.kind == "fitted"
    assert curve.at(asked) == pytest.approx(base + slope * asked, rel=1e-6)
    assert curve.fit_error == pytest.approx(0, abs=1e-6)
    assert not curve.is_measured(asked).any()


def test_a_fit_never_falls_and_states_its_error() -> None:
    curve = Curve.fitted([CostPoint.of(10, 100.0), CostPoint.of(20, 50.0)])
    assert curve.slope == 0.0
    assert curve.fit_error is not None
    assert curve.fit_error > 0.2


def test_a_grid_is_interpolated_in_both_directions() -> None:
    pairs = [((a, b), CostPoint.of(a * b, 10.0 + a + 2 * b)) for a in (1, 4) for b in (10, 20, 40)]
    surface = Surface.measured(pairs)
    asked = np.array([[1, 10], [2, 15], [4, 40], [8, 80], [3, 30]])
    assert surface.kind == "measured"
    assert surface.at(asked) == pytest.approx(10 + asked[:, 0] + 2 * asked[:, 1])
    assert surface.is_measured(asked).tolist() == [True, False, True, False, False]
    assert surface.is_inside(asked).tolist() == [True, True, True, False, True]


def test_points_that_are_no_grid_are_fitted_and_marked() -> None:
    pairs = [((a, b), CostPoint.of(a * b, 5.0 + 0.5 * a * b)) for a, b in ((1, 10), (2, 30), (8, 5), (4, 4))]
    surface = Surface.measured(pairs)
    assert surface.kind == "fitted"
    assert surface.at(np.array([[3, 7]])) == pytest.approx(5 + 0.5 * 21)


@pytest.mark.parametrize("bad", [(0, 1.0), (4, 0.0), (4, -1.0), (4, float("nan")), (4, float("inf"))])
def test_a_point_means_something(bad: tuple[int, float]) -> None:
    with pytest.raises(CostError):
        CostPoint.of(*bad)


def test_costs_that_contradict_themselves() -> None:
    curve = Curve.measured(POINTS)
    with pytest.raises(CostError, match="measured twice"):
        Curve.measured([POINTS[0], POINTS[0]])
    with pytest.raises(CostError, match="different hint each"):
        Costs(curve, (Dynamic(curve, 4), Dynamic(curve, 4)))
    with pytest.raises(CostError, match="same number of symbols"):
        Costs(curve, (Dynamic(Surface.proportional(), 4),))
    with pytest.raises(CostError, match="device time"):
        Costs(Curve.proportional(), compile_s=Amount.of(1.0), unit="elements")
    with pytest.raises(CostError, match="finite"):
        Amount.of(float("nan"))


def test_a_cost_file_is_read_whole(tmp_path: Path) -> None:
    points = [{"size": 16, "cost_us": 50, "low_us": 49, "high_us": 52}, {"size": 64, "cost_us": 60.5}]
    content = {
        "static": points,
        "dynamic": [{"hint": 600, "points": points}, {"hint": 16, "points": points}],
        "compile_s": 1.5,
        "capture_s": [[16, 0.2], [64, 0.6]],
        "memory_bytes": 3_000_000,
    }
    path = tmp_path / "cost.json"
    path.write_text(json.dumps(content))
    costs = load_costs(path)
    assert costs.static.at(np.array([16, 64])).tolist() == [50, 60.5]
    assert [dynamic.hint for dynamic in costs.dynamic] == [600, 16]
    assert costs.seconds(np.array([16, 40])) == pytest.approx([1.7, 1.9])
    assert costs.seconds(np.array([40]), static=False).tolist() == [1.5]
    assert costs.bytes(np.array([40])).tolist() == [3e6]
    path.write_text(json.dumps({"static": points, "dynamic": points, "fitted": True}))
    assert load_costs(path).static.kind == load_costs(path).dynamic[0].model.kind == "fitted"
    path.write_text(json.dumps({"static": [{"size": [2, 8], "cost_us": 3.0}]}))
    assert load_costs(path).symbols == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must be an object"),
        ("{}", "no key 'static'"),
        ('{"static": []}', "at least one measured point"),
        ('{"static": 3}', "static must be a list"),
        ('{"static": [3]}', r"static\[0\] must be an object"),
        ('{"static": [{"size": 4}]}', r"static\[0\].cost_us must be a number"),
        ('{"static": [{"size": 4, "cost_us": 0}]}', "above zero"),
        ('{"static": [{"size": 4, "cost_us": 1e999}]}', "above zero"),
        ('{"static": [{"size": 4.5, "cost_us": 1}]}', "whole number"),
        ('{"static": [{"size": [1, 2, 3], "cost_us": 1}]}', "one size or two"),
        ('{"static": [{"size": 4, "cost_us": 1, "low_us": 2}]}', "must lie above 0 and in"),
        ('{"static": [{"size": 4, "cost_us": 1}, {"size": [4, 1], "cost_us": 1}]}', "mixes points"),
        ('{"static": [{"size": 4, "cost_us": 1, "cost": 1}]}', "unknown key 'cost'"),
        ('{"static": [{"size": 4, "cost_us": 1}], "compile_s": -1}', "zero or more"),
        ('{"static": [{"size": 4, "cost_us": 1}], "compile_s": [[4]]}', r"\[size, amount\]"),
        ('{"static": [{"size": 4, "cost_us": 1}], "dynamic": [{"hint": 0, "points": []}]}', "hint must be"),
        ('{"static": [{"size": 4, "cost_us": 1}], "fitted": 1}', "true or false"),
    ],
)
def test_what_is_no_cost_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "cost.json"
    path.write_text(text)
    with pytest.raises(CostError, match=words) as raised:
        load_costs(path)
    assert str(path) in raised.value.message
