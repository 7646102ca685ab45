"""A profile in a real notebook: what its cells show, and what survives the viewers of notebooks."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright

pytestmark = pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages, not of ours


def test_a_profile_shows_itself_below_its_cell(executed) -> None:
    html = executed.html("with")
    assert "In[2]:4" in html
    assert "print(&#x27;value&#x27;, n)" in html
    assert len(html) < 30_000
    assert not re.search(r"<(script|style|svg|img|iframe)|style=|class=", html)
    (result,) = executed.outputs("with", "execute_result")
    assert "2 recompiles" in result.data["text/plain"]


def test_code_of_cells_has_its_source_and_their_names(executed) -> None:
    file, path, code, name, ended, sources = executed.json("facts")
    assert file == "In[2]"
    assert path == ["In[3]:3 <module>", "In[2]:4 scaled"]
    assert code == "y = x * n"
    assert (name, ended) == ("study.ipynb", "ended")
    assert sources == ["In[2]", "In[3]"]


def test_the_magic_shows_the_last_value_and_the_profile(executed) -> None:
    (result,) = executed.outputs("magic", "execute_result")
    assert result.data["text/plain"] == "tensor([9., 9., 9.])"
    assert "1 recompile" in executed.html("magic") or "recompiles" in executed.html("magic")
    assert executed.printed("name") == "1 [9.0, 9.0, 9.0]\n"


def test_a_cell_that_raises_shows_the_profile_and_the_exception_once(executed) -> None:
    assert "scaled(): " in executed.html("raises")
    (error,) = executed.outputs("raises", "error")
    assert error.ename == "ZeroDivisionError"
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
    assert text.count("ZeroDivisionError: division by zero") == 1
    assert re.search(r"Cell In\[6\], line 2\n\s+1 scaled\(torch.ones\(3\), 9\)\n-+> 2 1 / 0", text)
    assert "_magic.py" not in text


def test_wrong_options_and_awaiting_cells_are_refused_in_a_sentence(executed) -> None:
    texts = [str(executed.outputs(name)) for name in ("options", "awaits")]
    assert "unrecognized arguments: --no-such-option" in texts[0]
    assert "a cell that awaits cannot be recorded" in texts[1]


def test_show_puts_the_whole_report_in_a_frame(executed) -> None:
    html = executed.html("show")
    assert html.startswith('<iframe title="CompileScope report" sandbox="allow-scripts"')
    assert 'height="500"' in html
    assert len(html) < 1_600_000


class Pieces(HTMLParser):
    """Tags and texts in their order, without white space."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found += f"<{tag}>"

    def handle_data(self, data: str) -> None:
        self.found += "".join(data.split())


def test_sanitizing_leaves_the_card_as_it_is(executed) -> None:
    """What GitHub and nbviewer do to a notebook."""
    page, _ = HTMLExporter(sanitize_html=True).from_notebook_node(executed.notebook)
    assert Pieces(executed.html("with")).found in Pieces(page).found
    assert "<iframe" not in page


def test_the_exported_notebook_in_a_browser(executed, tmp_path: Path) -> None:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    page, _ = HTMLExporter().from_notebook_node(executed.notebook)
    file = tmp_path / "notebook.html"
    file.write_text(page, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        tab = context.new_page()
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        # What the exporter itself loads from elsewhere (MathJax, RequireJS) is not there offline.
        tab.goto(file.as_uri(), wait_until="domcontentloaded")
        assert tab.get_by_text("Fix first", exact=True).first.is_visible()
        frame = next(f for f in tab.frames if f.parent_frame is not None)
        frame.wait_for_selector("#verdict")
        frame.locator("#filter").fill("scaled")
        assert frame.locator("[data-item]:visible").count() > 0
        frame.locator("#filter").fill("")
        frame.wait_for_selector("#chart-frames svg.main-svg")
        frame.locator("section[aria-labelledby=code] button[data-text]").first.click()
        frame.wait_for_selector(".text-box")
        assert "scaled" in frame.locator(".text-box").first.inner_text()
        assert [error for error in errors if "require" not in error.lower()] == []
        browser.close()
