from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WIDTHS = (360, 1600)
SCHEMES = ("light", "dark")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("build", [builders.rich, builders.hostile, builders.empty])
def test_quiet_and_no_wider_than_the_window(open_report, build, width, scheme) -> None:
    tab = open_report(build(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.page.wait_for_timeout(50)
    tab.assert_quiet()


def assert_accessible(page: Page) -> None:
    # Axe cannot judge contrast over the shadows of scrolling tables: take them away, not the check.
    page.add_style_tag(content=".scroll { background: none !important; }")
    results = Axe().run(page)
    assert len(results.response["passes"]) > 15
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("build", [builders.rich, builders.empty])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(open_report, build, scheme) -> None:
    tab = open_report(build(), color_scheme=scheme, viewport={"width": 1280, "height": 800})
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert_accessible(tab.page)


def test_axe_finds_nothing_on_a_phone_and_in_the_help_panel(open_report) -> None:
    tab = open_report(builders.hostile(), viewport={"width": 360, "height": 700})
    assert_accessible(tab.page)
    tab.page.keyboard.press("?")
    assert_accessible(tab.page)


def test_the_chart_is_drawn(open_report) -> None:
    tab = open_report(builders.rich())
    frames = len(builders.rich().frames)
    tab.until_drawn()
    assert tab.page.locator("#chart-frames svg.main-svg").count() >= 1
    assert tab.page.locator("#chart-frames .ytick").count() == frames
    assert tab.page.locator("#chart-frames .bars path").count() >= frames
    assert "The table below" in (tab.page.locator("#chart-frames").get_attribute("aria-label") or "")


def test_the_chart_keeps_its_height_when_the_window_changes(open_report) -> None:
    tab = open_report(builders.rich(), viewport={"width": 1280, "height": 800})
    height = "document.querySelector('#chart-frames').getBoundingClientRect().height"
    tab.until_drawn()
    before = tab.page.evaluate(height)
    assert before > 150
    tab.page.set_viewport_size({"width": 360, "height": 800})
    tab.until("document.querySelector('#chart-frames svg').clientWidth < 800")
    assert tab.page.evaluate(height) == before


def test_the_chart_follows_the_theme(open_report) -> None:
    tab = open_report(builders.rich(), color_scheme="light")
    tab.until_drawn()
    ink = "getComputedStyle(document.querySelector('#chart-frames .ytick text')).fill"
    light = tab.page.evaluate(ink)
    tab.page.keyboard.press("t")
    tab.until(f"{ink} !== {light!r}")


def test_without_javascript_every_row_is_there(open_report) -> None:
    report = builders.rich()
    with_scripts = open_report(report)
    without = open_report(report, java_script_enabled=False)
    assert without.visible_rows() == with_scripts.visible_rows() > 30
    assert not without.page.locator("#filter").is_visible()
    assert not without.page.locator("#chart-frames").is_visible()
    assert without.page.locator("pre:has-text('Detected data-dependent branching')").is_visible()


def test_it_is_ready_soon_even_when_huge(open_report) -> None:
    tab = open_report(builders.huge())
    took_ms = tab.page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
    assert took_ms < 6000


def test_print_to_pdf_opens_everything_and_is_light(open_report) -> None:
    tab = open_report(builders.rich(), color_scheme="dark")
    closed = tab.page.locator("details:not([open])").count()
    tab.page.evaluate("window.printed = null")
    tab.page.evaluate(
        """addEventListener('beforeprint', () => {
             window.printed = [document.querySelectorAll('details:not([open])').length,
                               getComputedStyle(document.body).color];
           })"""
    )
    pdf = tab.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000
    assert tab.page.evaluate("window.printed") == [0, "rgb(28, 33, 40)"]
    assert tab.page.locator("details:not([open])").count() == closed
    tab.assert_quiet()


def test_source_lines_are_shown_and_marked(open_report) -> None:
    source = "\n".join(f"line_{n} = {n}" for n in range(1, 40))
    tab = open_report(builders.rich(), sources={"25_hot_loop_break.py": source})
    marked = tab.page.locator("#break-25-hot-loop-break-py-13 .here")
    assert "line_13 = 13" in marked.inner_text()


def test_a_long_line_of_code_does_not_push_columns_out_of_sight(open_report) -> None:
    rich = builders.rich()
    line = "x = " + "f(y) + " * 30 + "1"
    row = replace(rich.recompiles[0], file="train.py", line=2, code=line)
    wide = {"width": 1400, "height": 800}
    tab = open_report(
        replace(rich, recompiles=[row]), sources={"train.py": f"import f\n{line}\n"}, viewport=wide
    )
    assert tab.page.locator("section[aria-labelledby=recompiles] pre.lines").count() == 1
    hidden = "(box) => box.scrollWidth - box.clientWidth"
    table = tab.page.locator("section[aria-labelledby=recompiles] .scroll").first
    assert table.evaluate(hidden) <= 1


@pytest.mark.parametrize("width", [400, 1280])
def test_code_of_a_row_has_the_width_of_the_page_and_keeps_its_lines(open_report, width) -> None:
    source = "\n".join(
        f"{'    ' * (n % 3)}line_{n} = f(line_{n - 1}, n={n})  # one line" for n in range(1, 40)
    )
    tab = open_report(
        builders.rich(),
        sources={"25_hot_loop_break.py": source},
        viewport={"width": width, "height": 800},
    )
    box = tab.page.locator("#break-25-hot-loop-break-py-13 pre.lines").bounding_box()
    assert min(width - 320, 900) <= box["width"] <= width
    heights = tab.page.locator("#break-25-hot-loop-break-py-13 pre.lines > span").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().height)"
    )
    assert len(set(map(round, heights))) == 1


@pytest.mark.parametrize("width", [400, 1280])
def test_a_click_selects_the_command_of_a_fix_as_one_line(open_report, width) -> None:
    command = "export X=\"$(python -c 'import pathlib;  print(pathlib.Path.home())')\" " + "y/" * 40
    rich = builders.rich()
    found = [rich.findings[0] | {"command": command}]
    tab = open_report(replace(rich, findings=found), viewport={"width": width, "height": 800})
    tab.page.locator("pre.command").click()
    assert tab.page.evaluate("getSelection().toString()") == command
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
