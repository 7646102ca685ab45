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


@pytest.mark.parametrize(
    ("stem", "fragment"),
    [
        ("h200-max-autotune", "#tuned"),
        ("buckets", "#ladder"),
        ("h200-llama", "#phases"),
        ("cpu-training", "#source-train-dynamic-py"),
    ],
)
def test_links_lead_into_the_sections(open_report, stem, fragment) -> None:
    path = next(path for path in SAMPLES if path.stem == stem)
    tab = open_report(read(path), fragment, viewport={"width": 1280, "height": 700})
    tab.page.wait_for_timeout(200)
    box = tab.page.locator(fragment).bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 700


def test_the_filter_finds_a_kernel_in_its_graph(open_report) -> None:
    path = next(path for path in SAMPLES if path.stem == "cpu-training")
    tab = open_report(read(path), "#filter=cpp_fused_relu_0")
    rows = tab.page.locator("[data-item]:visible")
    assert 0 < rows.count() < 8
    assert all(
        "cpp_fused_relu_0" in text for text in rows.evaluate_all("(all) => all.map((row) => row.textContent)")
    )
