"""A curve of costs from timed calls: what single calls waited for must not look like a gain of padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.call_costs import sampled_costs
from compilescope.analysis.report import CallTime, FrameSizes, Report
from compilescope.analysis.traffic import FrameTraffic
from compilescope.ladder.planner import Costs, Curve, Traffic, study_ladder

Row = tuple[int, int, float]  # size, calls timed, their median in us
NAME = "x.size(0)"


def costs_of(rows: Sequence[Row], artifact: str = "dynamic") -> tuple[Costs | None, str]:
    times = [CallTime({NAME: size}, artifact, timed, us) for size, timed, us in rows]
    sizes = FrameSizes("serve", "serve.py", 6, "p", [NAME], [], 0, 0, 0, 0.0, [], "0/0", times)
    nothing: Any = None
    fields = {**dict.fromkeys(Report.__dataclass_fields__, nothing), "graphs": [], "sizes": [sizes]}
    traffic = Traffic.of([size for size, _, _ in rows], names=[NAME])
    found = FrameTraffic(traffic, "serve", "serve.py", 6, "0", (), ())
    costs, notes = sampled_costs(Report(**fields), found)
    return costs, " ".join(notes)


def points_of(rows: Sequence[Row]) -> list[tuple[int, float]]:
    costs, _ = costs_of(rows)
    assert costs is not None
    assert isinstance(costs.static, Curve)
    return [(point.size, point.cost) for point in costs.static.points]


def test_a_rising_curve_stays_as_it_was_measured() -> None:
    rows = [(16, 3, 20.0), (64, 4, 30.0), (256, 9, 80.0)]
    assert points_of(rows) == [(16, 20.0), (64, 30.0), (256, 80.0)]
    assert "took longer" not in costs_of(rows)[1]


@pytest.mark.parametrize("waited", [41.0, 900.0, 1e6])
def test_a_few_calls_that_waited_are_one_level_with_their_neighbors(waited: float) -> None:
    """On an H200 the first calls at a size take 0.6 to 10 ms, for kernels that are loaded; later ones 0.2."""
    rows = [(16, 3, waited), (64, 4, 40.0), (256, 9, 80.0)]
    assert points_of(rows) == [(16, 40.0), (64, 40.0), (256, 80.0)]
    assert "neighbors of which a smaller one took longer" in costs_of(rows)[1]


def test_no_ladder_gains_by_padding_such_sizes_up() -> None:
    rows = [(16 * n, 3, 200.0 + 5000.0 * (n % 3 == 0)) for n in range(1, 40)]
    costs, _ = costs_of(rows)
    traffic = Traffic.of([size for size, _, _ in rows] * 10, names=[NAME])
    assert study_ladder(traffic, costs).score.excess >= 0


def test_a_size_that_was_timed_often_may_cost_more_than_a_larger_one() -> None:
    """777 rows take longer than 1024 where 777 has no alignment: that is no noise."""
    rows = [(512, 50, 300.0), (777, 50, 420.0), (1024, 50, 410.0)]
    assert points_of(rows) == [(512, 300.0), (777, 420.0), (1024, 410.0)]
    assert points_of([(512, 50, 300.0), (777, 29, 420.0), (1024, 50, 410.0)]) == [
        (512, 300.0),
        (777, 410.0),
        (1024, 410.0),
    ]


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 29), st.floats(1, 1e5)), min_size=2, max_size=40)
)
def test_few_calls_never_make_a_curve_that_falls(rows: list[Row]) -> None:
    costs, _ = costs_of(list({row[0]: row for row in rows}.values()))
    if costs is not None:
        assert isinstance(costs.static, Curve)
        at = np.arange(1, 6000, 7)
        assert (np.diff(costs.static.at(at)) >= -1e-9).all()
