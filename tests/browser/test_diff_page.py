"""The page of a diff in a real browser: it runs nothing, fits, and reads without a script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "compare"))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "views_diff"))

import diffs
from axe_playwright_python.sync_playwright import Axe

from compilescope.views.html.diff import render

SIZES = {"wide": {"width": 1400, "height": 900}, "narrow": {"width": 380, "height": 800}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("build", [diffs.full, diffs.hostile, diffs.real])
def test_it_fits_and_does_nothing(open_report, build, size, scheme):
    tab = open_report(render(build()), viewport=SIZES[size], color_scheme=scheme)
    tab.assert_quiet()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert tab.page.evaluate("window.pwned") is None


def test_the_sides_stand_beside_each_other_and_below_on_a_narrow_screen(open_report):
    for size, beside in (("wide", True), ("narrow", False)):
        page = open_report(render(diffs.full()), viewport=SIZES[size]).page
        base, head = (page.locator(f"section[aria-label={name}]").bounding_box() for name in ("BASE", "HEAD"))
        assert (base["y"] == head["y"]) is beside
        assert (base["x"] < head["x"]) is beside


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(open_report, scheme):
    page = open_report(render(diffs.full()), color_scheme=scheme, bypass_csp=True).page
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_key_opens_on_the_keyboard_with_javascript_off(open_report):
    page = open_report(render(diffs.full()), java_script_enabled=False).page
    summary = page.locator("details > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("inductor_config[max_autotune] (changed)").is_visible()
