"""The planner's pictures: every chart has its table, every figure of the study is there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import builders
from hypothesis import given
from hypothesis import strategies as st

from compilescope.advice import examine
from compilescope.analysis.ladders import compact
from compilescope.analysis.report_ladder import Ladder
from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Traffic, study_ladder
from compilescope.ladder.planner.costs import Dynamic
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.views.html import render
from compilescope.views.html._ladder import planned
from compilescope.views.html._plot import Mark, line_chart, short, ticks

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"


def ladder(*, fitted: bool = False, label: str = "step train.py:3") -> Ladder:
    points = [CostPoint.of(size, 20 + 0.5 * size, 19 + 0.5 * size, 21 + 0.5 * size) for size in (8, 64, 256)]
    curve = Curve.fitted(points) if fitted else Curve.measured(points)
    costs = Costs(curve, (Dynamic(Curve.measured([CostPoint.of(8, 60), CostPoint.of(256, 320)])),))
    traffic = Traffic.of([7, 8, 60, 64, 250] * 8, label=label)
    return compact(study_ladder(traffic, costs, Limits(max_rungs=4)))


def test_measured_costs_give_two_charts_and_their_tables() -> None:
    found = ladder()
    (plan,) = planned([found])
    by_count, curve = plan.figures
    assert [row[0] for row in by_count.rows] == [str(each.rungs) for each in found.by_count]
    assert [row[3] for row in by_count.rows].count("chosen") == 1
    assert by_count.chart.count('class="chosen"') == 1
    measured = [row for row in curve.rows if row[4] == "measured"]
    assert curve.chart.count("<circle") == curve.chart.count('class="whisker"') == len(measured) >= 3
    assert "above one artifact a size" in plan.verdict


def test_without_measurements_there_is_no_curve() -> None:
    (plan,) = planned([compact(study_ladder(Traffic.of([7, 8, 60, 64, 250] * 8)))])
    assert [figure.name for figure in plan.figures] == ["Cost by number of rungs, on the half planned on"]


def test_no_rung_pays_is_said() -> None:
    (plan,) = planned([replace(ladder(), pays=False, pays_from_calls=5000.0)])
    assert plan.verdict == "No rung pays; one would from 5,000 calls: one dynamic artifact costs least."


def test_the_page_shows_them_and_escapes_what_was_recorded() -> None:
    attack = ladder(label="<script>pwned</script> a.py:1")
    page = render(replace(builders.rich(), ladders=[attack] * 10))
    assert page.count('<svg class="chart"') == 16
    assert "<script>pwned" not in page
    assert "Calls by size, and the rungs" in page
    assert "and 2 more" in page
    assert 'href="#ladder"' in page
    assert 'id="ladder"' not in render(builders.empty())


def test_a_recording_with_traffic_recommends_a_ladder() -> None:
    report, _ = examine(load(open_recording(RECORDINGS / "38_poor_bucket_ladder.zip")))
    assert "BucketLadder.pads([32, 64, 128, 256])" in render(report)


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
