"""Pictures beside their tables: compile time, the flow from lines to kernels."""

from __future__ import annotations

import itertools
from dataclasses import replace

import builders
import pytest
from axe_playwright_python.sync_playwright import Axe

from compilescope.analysis.ladders import compact
from compilescope.analysis.report_graph import KernelNode, SourceLine
from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Traffic, study_ladder
from compilescope.views.html import render


@pytest.fixture
def tab(open_report):
    return open_report(builders.rich(), viewport={"width": 1280, "height": 900})


def test_the_flow_is_drawn_from_the_rows_of_its_table(tab) -> None:
    button = tab.page.locator("[data-flow]").first
    table = button.locator("xpath=preceding-sibling::table[1]")
    button.evaluate("(button) => { button.closest('details').open = true; }")
    button.click()
    picture = tab.page.locator("svg.flow")
    assert picture.count() == 1
    kernels = table.locator("tbody tr").count()
    lines = set(table.locator("tbody td:nth-child(5) div:not(.sub)").all_inner_texts())
    assert picture.locator("rect").count() == 2 * kernels + len(lines)
    edges = table.locator("tbody td:nth-child(5) div:not(.sub)").count()
    assert picture.locator("path").count() == kernels + edges
    assert f"{kernels} kernels" in (picture.get_attribute("aria-label") or "")
    button.click()
    assert tab.page.locator("svg.flow").count() == 0
    tab.assert_quiet()


def test_nodes_with_lines_of_their_own_stand_between(open_report) -> None:
    report = builders.rich()
    graph = next(graph for graph in report.graphs if graph.kernel_rows)
    nodes = [
        KernelNode("relu", "aten.relu.default", "aten.relu", SourceLine("/a/model.py", 7, "f", "x.relu()")),
        KernelNode("add_1", "aten.add.Tensor", "", SourceLine("/a/model.py", 8, "f", "x + 1")),
    ]
    kernel = replace(graph.kernel_rows[0], nodes=nodes, nodes_count=2)
    tab = open_report(replace(report, graphs=[replace(graph, kernel_rows=[kernel])]))
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tab.page.locator("[data-flow]").click()
    texts = tab.page.locator("svg.flow g text").all_text_contents()
    assert texts[:2] == ["relu = aten.relu.default", "add_1 = aten.add.Tensor"]
    assert texts[3:] == ["model.py:7 x.relu()", "model.py:8 x + 1"]
    assert tab.page.locator("svg.flow path").count() == 4
    tab.assert_quiet()


def test_attacks_in_the_flow_are_text(open_report) -> None:
    tab = open_report(builders.hostile())
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for button in tab.page.locator("[data-flow]").all():
        button.click()
    assert tab.page.locator("svg.flow").count() > 0
    tab.assert_quiet()
    assert tab.page.evaluate("typeof window.pwned") == "undefined"


def test_boxes_of_compile_time_stand_side_by_side(tab) -> None:
    boxes = tab.page.locator(".icicle > div:last-child span")
    edges = [box.bounding_box() for box in boxes.all()]
    assert len(edges) == 5
    for left, right in itertools.pairwise(edges):
        assert left["x"] + left["width"] <= right["x"] + 1
    whole = tab.page.locator(".icicle > div:first-child span").bounding_box()
    assert sum(edge["width"] for edge in edges) == pytest.approx(whole["width"], rel=0.01)


def test_without_javascript_compile_time_is_drawn_all_the_same(open_report) -> None:
    tab = open_report(builders.rich(), java_script_enabled=False)
    assert tab.page.locator(".icicle span:visible").count() == 11
    assert not tab.page.locator("[data-flow]").first.is_visible()


def test_a_recommended_ladder_is_accessible_and_fits_a_phone(open_report) -> None:
    points = [CostPoint.of(size, 20 + size / 2, 19 + size / 2, 21 + size / 2) for size in (8, 64, 256)]
    costs = Costs(Curve.measured(points))
    study = study_ladder(Traffic.of([7, 8, 60, 64, 250] * 8), costs, Limits(max_rungs=4))
    page = render(replace(builders.rich(), ladders=[compact(study)]))
    for width, scheme in ((360, "light"), (1400, "dark")):
        tab = open_report(page, viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert tab.page.locator("svg.chart:visible").count() == 2
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        tab.page.locator("[data-flow]").first.click()
        tab.page.add_style_tag(content=".scroll { background: none !important; }")
        results = Axe().run(tab.page)
        assert results.violations_count == 0, results.generate_report()
        tab.assert_quiet()
