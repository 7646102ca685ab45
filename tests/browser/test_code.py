"""Texts that stand compressed in the page."""

from __future__ import annotations

from dataclasses import dataclass

import builders
from axe_playwright_python.sync_playwright import Axe
from builder_facts import PROCESS

CODE = '''\
# a comment with <b>markup</b>
import torch

@torch.compile
def forward(x):
    """Words </pre><script>window.pwned = 1</script>"""
    return x * 2.5 if True else "s"
'''


@dataclass
class Recorded:
    content: str
    title: str = "Dynamo graph"
    kind: str = "dynamo_output_graph"
    compile_id: str = "0/1"
    code: str | None = None
    process: str = PROCESS
    epoch: int = 0

    @property
    def digest(self) -> str:
        return self.content

    @property
    def size_bytes(self) -> int:
        return len(self.content)

    def read(self) -> str:
        return self.content


def open_graph(open_report, content: str = CODE, **options):
    options = {"viewport": {"width": 1280, "height": 900}} | options
    tab = open_report(
        builders.rich(), "#compile-0-1", documents=[Recorded(content)], sources={"a.py": CODE}, **options
    )
    return tab, tab.page.locator("#compile-0-1 button[data-text]")


def test_a_text_is_shown_colored_and_put_away_again(open_report) -> None:
    tab, button = open_graph(open_report)
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    box = tab.page.locator("#compile-0-1 .text-box")
    box.wait_for()
    assert box.locator("pre").last.text_content() == CODE
    assert box.locator(".numbers").text_content() == "\n".join(map(str, range(1, 8)))
    assert box.locator(".t-word").all_text_contents() == ["import", "def", "return", "if", "True", "else"]
    assert box.locator(".t-name").all_text_contents() == ["@torch.compile", "forward"]
    assert box.locator(".t-number").all_text_contents() == ["2.5"]
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert box.count() == 0
    tab.assert_quiet()
    assert tab.page.evaluate("typeof window.pwned") == "undefined"


def test_the_keyboard_opens_it_and_reaches_the_text(open_report) -> None:
    tab, button = open_graph(open_report)
    button.focus()
    tab.page.keyboard.press("Enter")
    tab.page.locator("#compile-0-1 .text-box").wait_for()
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "text-box"


def test_two_quick_clicks_leave_it_closed(open_report) -> None:
    tab, button = open_graph(open_report)
    button.evaluate("(button) => { button.click(); button.click(); }")
    tab.page.wait_for_timeout(200)
    assert tab.page.locator(".text-box").count() == 0
    tab.assert_quiet()


def test_a_long_text_is_shown_at_once(open_report) -> None:
    tab, button = open_graph(open_report, CODE * 8_000)
    button.click()
    tab.page.locator(".text-box").wait_for(timeout=5_000)
    assert (
        tab.page.locator(".text-box pre").last.evaluate("(pre) => pre.textContent.length")
        == len(CODE) * 8_000
    )


def test_axe_finds_nothing_in_an_open_text(open_report) -> None:
    for scheme in ("light", "dark"):
        tab, button = open_graph(open_report, color_scheme=scheme)
        button.click()
        tab.page.locator(".text-box").wait_for()
        tab.page.add_style_tag(content=".scroll { background: none !important; }")
        results = Axe().run(tab.page)
        assert results.violations_count == 0, results.generate_report()


def test_without_javascript_a_sentence_says_how_to_see_it(open_report) -> None:
    tab = open_report(builders.rich(), documents=[Recorded(CODE)], java_script_enabled=False)
    assert tab.page.locator("button[data-text]:visible").count() == 0
    section = tab.page.locator("section[aria-labelledby=code]").inner_text()
    assert "compilescope tui REC" in section
    assert "JavaScript" in section
