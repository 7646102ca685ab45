from __future__ import annotations

import builders

from compilescope.views.html import render


def test_nothing_executes(open_report) -> None:
    tab = open_report(builders.hostile())
    page = tab.page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for row in page.locator("[data-item]").all()[:30]:
        row.hover(force=True)
    tab.until_drawn()
    page.locator("#chart-frames .bars path").first.hover(force=True)
    page.keyboard.press("/")
    page.keyboard.type("<img src=x onerror=alert(1)>")
    page.keyboard.press("Escape")
    for key in "jksst[]?":
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    tab.assert_quiet()
    assert page.evaluate("typeof window.pwned") == "undefined"
    assert page.title().endswith("· CompileScope")
    assert page.title() != "pwned"


def test_the_document_has_no_element_that_an_attack_made(open_report) -> None:
    page = open_report(builders.hostile()).page
    assert page.locator("main img, main svg:not(.main-svg, .chart), main script, main iframe").count() == 0
    assert page.locator("body > script").count() == 7
    assert page.evaluate("document.querySelectorAll('a[href]:not([href^=\"#\"])').length") == 0
    names = "[...document.querySelectorAll('*')].flatMap((each) => each.getAttributeNames())"
    assert page.evaluate(f"{names}.filter((name) => name.startsWith('on'))") == []


def test_attacks_are_shown_as_text(open_report) -> None:
    page = open_report(builders.hostile()).page
    text = page.locator("main").inner_text()
    assert "<script>window.pwned=1" in text
    assert "\\x1b[31mred" in text
    assert "\\u202egnp.exe" in text
    assert "{{ 7*7 }}" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_attacks_in_code_on_demand_are_text(open_report) -> None:
    attacks = {f"{number}.py": text for number, text in enumerate(builders.ATTACKS)}
    tab = open_report(builders.hostile(), sources=attacks)
    tab.page.evaluate("document.querySelectorAll('[data-text]').forEach((each) => each.click())")
    tab.until(f"document.querySelectorAll('.text-box').length === {len(attacks)}")
    text = tab.page.locator("section[aria-labelledby=code]").inner_text()
    assert "<script>window.pwned=1" in text
    assert "\\x1b[31mred" in text
    assert "\\u202egnp.exe" in text
    assert tab.page.locator(".text-box script, .text-box img, .text-box svg").count() == 0
    tab.assert_quiet()
    assert tab.page.evaluate("typeof window.pwned") == "undefined"


def test_the_policy_stops_a_script_that_got_in_all_the_same(open_report, tmp_path, browser) -> None:
    document = render(builders.empty()).replace("</main>", "<script>window.pwned = 1</script></main>")
    file = tmp_path / "injected.html"
    file.write_text(document, encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.evaluate("typeof window.pwned") == "undefined"
    page.close()


def test_it_works_in_a_frame_without_an_origin(browser, tmp_path) -> None:
    """As notebooks show it: no storage, no history."""
    (tmp_path / "report.html").write_text(render(builders.rich()), encoding="utf-8")
    outer = tmp_path / "outer.html"
    outer.write_text('<iframe sandbox="allow-scripts" src="report.html" width="900" height="700"></iframe>')
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(outer.as_uri())
    frame = page.frames[1]
    frame.wait_for_selector("#chart-frames svg.main-svg")
    frame.locator("#filter").fill("fauxlib")
    frame.locator("#theme").click()
    assert 0 < frame.locator("[data-item]:visible").count() < 12
    assert errors == []
    page.close()
