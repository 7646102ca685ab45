from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

# Tests are imported by file name, without packages: the builders need a place on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from compilescope.views.html import render


@dataclass
class Tab:
    """An open report, and everything it should not have done."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def assert_quiet(self) -> None:
        assert self.requests == []
        assert self.messages == []
        assert self.dialogs == []

    def until(self, expression: str) -> None:
        """Waits from outside: the page's policy forbids the evaluation that Playwright's wait does."""
        for _ in range(100):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def until_drawn(self) -> None:
        """The chart's library is unpacked when the page has nothing else to do."""
        self.until("!!document.querySelector('#chart-frames svg.main-svg')")

    def visible_rows(self) -> int:
        return self.page.locator("[data-item]:visible").count()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """``open_report(report or page, fragment="", **options of the browser context)``, network off."""
    contexts = []

    def open_(
        report: Any, fragment: str = "", *, sources: Any = None, documents: Any = (), **options: Any
    ) -> Tab:
        page = report if isinstance(report, str) else render(report, sources=sources, documents=documents)
        file = tmp_path / "report.html"
        file.write_text(page, encoding="utf-8")
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        tab = Tab(context.new_page())
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        tab.page.on("console", lambda message: tab.messages.append(message.text))
        tab.page.on("pageerror", lambda error: tab.messages.append(str(error)))
        tab.page.on("dialog", lambda dialog: (tab.dialogs.append(dialog.message), dialog.dismiss()))
        tab.page.goto(file.as_uri() + fragment)
        tab.requests.remove(file.as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
