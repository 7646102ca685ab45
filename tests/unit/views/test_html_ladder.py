"""The planner's pictures: every chart has its table, every figure of the study is there."""

from __future__ import annotations

import re
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.advice import examine
from compilescope.analysis.studies import FEWEST_CALLS, MAX_STUDIES, studies_of
from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Study, Traffic, study_ladder
from compilescope.ladder.planner.costs import Dynamic
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.views.html import render
from compilescope.views.html._ladder import recommended
from compilescope.views.html._plot import Mark, line_chart, short, ticks

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"


def study(*, fitted: bool = False, label: str = "step train.py:3") -> Study:
    points = [CostPoint.of(size, 20 + 0.5 * size, 19 + 0.5 * size, 21 + 0.5 * size) for size in (8, 64, 256)]
    curve = Curve.fitted(points) if fitted else Curve.measured(points)
    costs = Costs(curve, (Dynamic(Curve.measured([CostPoint.of(8, 60), CostPoint.of(256, 320)])),))
    return study_ladder(Traffic.of([7, 8, 60, 64, 250] * 8, label=label), costs, Limits(max_rungs=4))


def test_a_study_with_measured_costs_has_three_pictures_and_their_tables() -> None:
    found = study()
    plan = recommended(found)
    assert [figure.name for figure in plan.figures] == [
        "Cost by number of rungs",
        "Cost by size, measured points marked",
    ]
    by_count, curve = plan.figures
    assert [row[0] for row in by_count.rows] == [str(choice.rungs) for choice in found.plan.by_count]
    assert [row[2] for row in by_count.rows].count("chosen") == 1
    assert [row[0] for row in curve.rows] == ["8", "64", "256"]
    assert curve.chart.count("<circle") == curve.chart.count('class="whisker"') == 3
    assert by_count.chart.count('class="chosen"') == 1
    assert sum(bar.calls for bar in plan.histograms[0].bars) == 40
    assert [line.name for line in plan.lines][:2] == ["planned", "dynamic alone"]


def test_a_fitted_curve_says_so_and_keeps_its_points() -> None:
    curve = recommended(study(fitted=True)).figures[-1]
    assert "the line is fitted" in curve.chart
    assert curve.chart.count("<circle") == 3


def test_the_page_shows_them_and_escapes_what_was_recorded() -> None:
    page = render(builders.rich(), studies=[study(label="<script>pwned</script>")])
    assert page.count('<svg class="chart"') == 2
    assert "<script>pwned" not in page
    assert "Calls by size, and the rungs" in page
    assert page.count("as figures</summary>") == 2
    assert 'href="#ladder"' in page
    assert 'id="ladder"' not in render(builders.empty())


def test_a_recording_with_traffic_recommends_a_ladder() -> None:
    report, _ = examine(load(open_recording(RECORDINGS / "38_poor_bucket_ladder.zip")))
    (found,) = studies_of(report)
    assert found.label == "encode 38_poor_bucket_ladder.py:8"
    assert "BucketLadder.pads([32, 64, 128, 256])" in render(report)


@pytest.mark.parametrize("name", ["12_kv_cache_growth", "01_print_in_forward"])
def test_few_calls_and_fixed_sizes_recommend_nothing(name: str) -> None:
    report, _ = examine(load(open_recording(RECORDINGS / f"{name}.zip")))
    assert all(each.traffic.calls >= FEWEST_CALLS for each in studies_of(report))
    assert len(studies_of(report)) <= MAX_STUDIES


@given(st.floats(1e-6, 1e12))
def test_property_ticks_are_few_round_and_inside(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert 2 <= len(found) <= 7
    assert found[-1] <= most * 1.000001


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=20), st.text(max_size=30))
def test_property_a_chart_stays_inside_and_is_text_safe(points, text) -> None:
    marks = [Mark(point, "point", text) for point in points]
    chart = line_chart(points, marks, x_label=text, y_label=text, describe=text)
    for x, y in re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', chart):
        assert 0 <= float(x) <= 460
        assert 0 <= float(y) <= 220
    assert chart.count("<circle") == len(points)
    assert re.sub(r"</?(svg|path|text|circle|title)\b[^<>]*>", "", chart).count("<") == 0


def test_short_numbers() -> None:
    assert [short(value) for value in (0, 0.25, 950, 1500, 2_000_000)] == ["0", "0.25", "950", "1.5k", "2M"]
