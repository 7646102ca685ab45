from __future__ import annotations

import builders
import pytest


@pytest.fixture
def tab(open_report):
    return open_report(builders.rich(), viewport={"width": 1280, "height": 800}, color_scheme="light")


def current(tab) -> str:
    return tab.page.evaluate("document.querySelector('.current')?.id ?? ''")


def test_slash_filters_and_escape_clears(tab) -> None:
    every = tab.visible_rows()
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("fauxlib stderr")
    assert 0 < tab.visible_rows() < every
    assert tab.page.locator("#filter-count").inner_text() == f"{tab.visible_rows()} of {every} rows"
    assert tab.page.url.endswith("#filter=fauxlib%20stderr")
    tab.page.keyboard.press("Escape")
    assert tab.visible_rows() == every
    assert tab.page.evaluate("document.activeElement.tagName") == "BODY"


def test_a_link_restores_the_filter(open_report) -> None:
    tab = open_report(builders.rich(), "#filter=fauxlib%20stderr")
    assert tab.page.locator("#filter").input_value() == "fauxlib stderr"
    assert 0 < tab.visible_rows() < 5


def test_a_broken_fragment_does_no_harm(open_report) -> None:
    for fragment in ("#filter=%E0%A4%A", "#%E0%A4%A", "#filter=<img src=x onerror=alert(1)>", "#no-such-id"):
        open_report(builders.empty(), fragment).assert_quiet()


def test_a_deep_link_opens_and_marks_its_row(open_report) -> None:
    tab = open_report(builders.rich(), "#break-fauxlib-util-py-8", viewport={"width": 1280, "height": 600})
    row = tab.page.locator("#break-fauxlib-util-py-8")
    assert current(tab) == "break-fauxlib-util-py-8"
    assert row.locator("details").get_attribute("open") is not None
    box = row.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 600


def test_a_deep_link_to_a_compile_id(open_report) -> None:
    tab = open_report(builders.rich(), "#compile-0-3")
    assert "[0/3]" in tab.page.locator(".current").inner_text()


def test_j_and_k_walk_over_visible_rows(tab) -> None:
    keys = tab.page.keyboard
    keys.press("j")
    first = current(tab)
    keys.press("j")
    second = current(tab)
    assert first.startswith("finding-")
    assert first != second
    keys.press("k")
    assert current(tab) == first
    keys.press("k")
    assert current(tab) == first
    assert tab.page.evaluate("document.activeElement.id") == first


def test_s_sorts_the_current_table_and_keeps_unknown_last(tab) -> None:
    page = tab.page
    runs = page.locator("section[aria-labelledby=graph-breaks] th", has_text="Runs")
    cells = "section[aria-labelledby=graph-breaks] tbody[data-item] tr:first-child td:nth-child(3)"
    runs.locator("button").click()
    assert runs.get_attribute("aria-sort") == "descending"
    assert page.locator(cells).all_inner_texts() == ["200", "9", "unknown"]
    runs.locator("button").click()
    assert runs.get_attribute("aria-sort") == "ascending"
    assert page.locator(cells).all_inner_texts() == ["9", "200", "unknown"]
    page.evaluate("location.hash = '#break-fauxlib-util-py-8'")
    page.wait_for_selector("#break-fauxlib-util-py-8.current")
    page.keyboard.press("s")
    sorted_heads = page.locator("section[aria-labelledby=graph-breaks] th[aria-sort=descending]")
    assert sorted_heads.all_inner_texts() == ["Events\xa0"] or "Events" in sorted_heads.inner_text()


def test_t_switches_the_theme_and_remembers_it(tab) -> None:
    page = tab.page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.keyboard.press("t")
    dark = page.evaluate(ground)
    assert light != dark
    # A file's storage may or may not outlive a reload; what was stored is put there again before it.
    stored = page.evaluate("JSON.stringify(Object.entries(localStorage))")
    assert "dark" in stored
    page.add_init_script(f"for (const [k, v] of {stored}) localStorage.setItem(k, v)")
    page.reload()
    tab.until(f"{ground} === '{dark}'")


def test_question_mark_opens_help_and_escape_closes_it(tab) -> None:
    page = tab.page
    assert not page.locator("#help").is_visible()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("j")
    assert current(tab) == ""
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_brackets_move_between_sections(tab) -> None:
    tab.page.keyboard.press("]")
    tab.page.keyboard.press("]")
    down = tab.page.evaluate("scrollY")
    assert down > 0
    tab.page.keyboard.press("[")
    assert tab.page.evaluate("scrollY") < down


def test_the_skip_link_is_the_first_stop(tab) -> None:
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "main"
