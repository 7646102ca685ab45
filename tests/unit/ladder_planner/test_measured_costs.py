"""From what a measuring process wrote to the costs a plan is made of, and which sizes are worth measuring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.ladder.planner import Curve, Surface, Traffic, load_costs
from compilescope.trial.measure_ladder import (
    MeasureError,
    costs_json,
    measurement,
    middle,
    sizes_to_measure,
)


def row(
    sizes: list[int], cost: float | None, compile_s: float | None = 1.0, problem: str | None = None
) -> Any:
    samples = [] if cost is None else [cost * (1 + 0.01 * n) for n in range(-5, 6)]
    return {
        "sizes": sizes,
        "compile_s": compile_s,
        "capture_s": None,
        "memory_bytes": None,
        "samples_us": samples,
        "problem": problem,
    }


def answer(**changed: Any) -> dict[str, Any]:
    return {
        "device": "cpu",
        "basis": "calls",
        "backward": False,
        "backend": "aot_eager",
        "torch": "2.13.0",
        "hint": [64],
        "static": [row([16], 50.0), row([64], 80.0, 2.0)],
        "dynamic": [row([16], 60.0), row([64], 90.0)],
        **changed,
    }


def test_medians_and_their_intervals_become_a_measured_curve() -> None:
    found = measurement(answer())
    static = found.costs.static
    assert isinstance(static, Curve)
    assert static.kind == "measured"
    assert [(point.size, point.cost) for point in static.points] == [(16, 50.0), (64, 80.0)]
    assert all(point.low < point.cost < point.high for point in static.points)
    assert found.costs.dynamic[0].hint == 64
    assert found.costs.seconds(np.array([16, 40, 64])).tolist() == [1.0, 1.5, 2.0]
    assert "by calls, static at 2 sizes" in found.notes[0]


def test_what_could_not_be_timed_is_left_out_and_named() -> None:
    bad = answer(static=[row([16], 50.0), row([64], None, None, "RuntimeError: no")], dynamic=[])
    found = measurement(bad)
    assert len(found.costs.static.points) == 1
    assert found.costs.dynamic == ()
    assert "static at 64 was not timed: RuntimeError: no" in found.notes
    with pytest.raises(MeasureError, match="RuntimeError: no"):
        measurement(answer(static=[row([64], None, None, "RuntimeError: no")]))
    with pytest.raises(MeasureError, match="never compiled"):
        measurement({"problem": "it never compiled such a graph"})


def test_a_grid_of_pairs_is_a_surface() -> None:
    pairs = [[2, 16], [2, 64], [8, 16], [8, 64]]
    rows = [row(pair, float(pair[0] * pair[1])) for pair in pairs]
    found = measurement(answer(static=rows, dynamic=rows, hint=[2, 16]))
    assert isinstance(found.costs.static, Surface)
    assert found.costs.static.at(np.array([[4, 32]])).tolist() == [128.0]
    assert found.costs.seconds(np.array([[4, 32]])).tolist() == [1.0]


@pytest.mark.parametrize("pairs", [False, True])
def test_what_was_measured_can_be_kept_in_a_cost_file(tmp_path: Path, pairs: bool) -> None:
    sizes = [[2, 16], [2, 64], [8, 16], [8, 64]] if pairs else [[16], [64], [70]]
    rows = [row(size, float(np.prod(size))) for size in sizes]
    costs = measurement(answer(static=rows, dynamic=rows, hint=sizes[0])).costs
    file = tmp_path / "cost.json"
    file.write_text(costs_json(costs))
    assert load_costs(file) == costs
    assert json.loads(file.read_text())["static"][0]["low_us"] > 0


def test_sizes_worth_measuring_are_the_middle_the_ends_and_likely_rungs() -> None:
    traffic = Traffic.of([10] * 50 + [20] * 30 + [300] * 19 + [4000])
    assert sizes_to_measure(traffic, 3) == [(10,), (4000,), (300,)]
    assert sizes_to_measure(traffic, 4, rungs=[304]) == [(10,), (4000,), (304,), (300,)]
    assert middle(traffic) == (10,)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=40), st.integers(2, 12))
def test_they_are_different_and_no_more_than_asked_for(sizes: list[int], points: int) -> None:
    found = sizes_to_measure(Traffic.of(sizes), points)
    assert len(set(found)) == len(found) <= points
    assert {size for (size,) in found} <= set(sizes)
    assert (max(sizes),) in found


def test_two_symbols_are_measured_on_a_grid() -> None:
    draw = np.random.default_rng(0)
    traffic = Traffic.of(np.stack([draw.integers(1, 9, 200), draw.integers(1, 900, 200)], axis=1))
    found = sizes_to_measure(traffic, 9)
    first, second = ({pair[axis] for pair in found} for axis in (0, 1))
    assert len(found) == len(first) * len(second) == 9
    assert max(second) == traffic.sizes[:, 1].max()
