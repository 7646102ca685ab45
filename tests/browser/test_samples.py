"""The sample reports as people open them: real recordings, every section filled somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

SAMPLES = sorted((Path(__file__).parents[2] / "reports" / "samples").glob("*.html"))
LARGE = [path for path in SAMPLES if path.stem in ("h200-llama", "buckets", "h200-max-autotune")]
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_quiet_narrow_and_wide(open_report, path) -> None:
    for width, scheme in ((360, "dark"), (1400, "light")):
        tab = open_report(read(path), viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        tab.until_drawn()
        for key in "jjs]]t":
            tab.page.keyboard.press(key)
        tab.assert_quiet()


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_axe_finds_nothing_with_everything_open(open_report, path) -> None:
    tab = open_report(read(path), viewport={"width": 1280, "height": 900}, color_scheme="light")
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for button in tab.page.locator("[data-flow], [data-text]").all()[:6]:
        button.click()
    tab.page.wait_for_timeout(300)
    tab.page.add_style_tag(content=".scroll { background: none !important; }")
    results = Axe().run(tab.page)
    assert results.violations_count == 0, results.generate_report()


def test_every_text_in_a_page_can_be_shown(open_report) -> None:
    tab = open_report(read(next(path for path in SAMPLES if path.stem == "cpu-training")))
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    buttons = tab.page.locator("[data-text]")
    number = buttons.count()
    tab.page.evaluate("document.querySelectorAll('[data-text]').forEach((each) => each.click())")
    tab.until(f"document.querySelectorAll('.text-box').length === {number}")
    assert number > 30
    shortest = "Math.min(...[...document.querySelectorAll('.text-box')].map((box) => box.textContent.length))"
    assert tab.page.evaluate(shortest) > 50
    tab.assert_quiet()


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_without_javascript_and_on_paper(open_report, path) -> None:
    tab = open_report(read(path), java_script_enabled=False)
    assert tab.page.locator("[data-item]:visible").count() > 5
    assert tab.page.locator(".icicle span:visible").count() > 3
    printed = open_report(read(path)).page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(printed) > 50_000


def test_a_redacted_page_says_so_and_offers_no_text(open_report) -> None:
    tab = open_report(read(next(path for path in SAMPLES if path.stem == "redacted")))
    assert "Redacted." in tab.page.locator(".redacted").inner_text()
    assert tab.page.locator("[data-text]").count() == 0


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_it_answers_soon(open_report, path) -> None:
    assert open_report(read(path)).page.evaluate(READY) < 6000  # a busy machine; the bench has the limit
