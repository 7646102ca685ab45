"""Pictures beside their tables: compile time, the flow from lines to kernels."""

from __future__ import annotations

import itertools

import builders
import pytest


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
