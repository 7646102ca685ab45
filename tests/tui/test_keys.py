"""Every key does what the help says of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import builders
import pytest
from explorer_driver import Driver, FakeCode, FakeSource, drive
from textual.widgets import Input

from compilescope.views.tui import _keys
from compilescope.views.tui._pages import PAGES
from compilescope.views.tui._table_screen import Detail
from compilescope.views.tui.tables.findings import FINDINGS

Step = Callable[[Driver], Awaitable[None]]


def test_moving(tmp_path: Path) -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2")
        rows = builders.huge(50).worst
        for keys, expected in (
            (["j"], 1), (["down", "j"], 3), (["k"], 2), (["up"], 1), (["G"], 49), (["j"], 49), (["g"], 0),
            (["k"], 0), (["end"], 49), (["home"], 0),
        ):  # fmt: skip
            await screen.press(*keys)
            assert rows[expected].title in screen.row
        await screen.press("pagedown")
        paged = screen.row
        await screen.press("pageup")
        assert rows[0].title in screen.row
        await screen.press("ctrl+d")
        assert screen.row == paged
        await screen.press("ctrl+u")
        assert f"1 of {len(rows)}" in screen.text

    drive(builders.huge(50), steps)


def test_screens_by_number_by_bracket_and_back() -> None:
    async def steps(screen: Driver) -> None:
        for page in PAGES:
            await screen.press(page.key)
            assert screen.page == page.name
        await screen.press("right_square_bracket")
        assert screen.page == "overview"
        await screen.press("left_square_bracket")
        assert screen.page == "timeline"  # processes are for runs of several
        await screen.press("backspace")
        assert screen.page == "overview"
        await screen.press("u")
        assert screen.page == PAGES[-1].name

    drive(builders.rich(), steps)


def test_search_jumps_while_typing_and_n_goes_on_round_the_end() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2", "slash")
        await screen.press(*"branches")
        assert "adaptive_step(): fullgraph" in screen.row
        await screen.press("enter", "n")
        assert "forward(): Python branches" in screen.row
        await screen.press("n")
        assert "___stack0" in screen.row
        await screen.press("n")
        assert "adaptive_step(): fullgraph" in screen.row
        await screen.press("N")
        assert "___stack0" in screen.row
        await screen.press("slash", *"nowhere", "enter", "n")
        assert "nothing here has 'nowhere'" in screen.text
        await screen.press("escape", "n")
        assert "search:" not in screen.lines[-2]

    drive(builders.rich(), steps)


def test_a_filter_keeps_rows_while_typing_and_escape_brings_them_back() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2", "f", *"FAUX")
        assert f"1 of 1 (of {len(FINDINGS.rows(builders.rich()))})" in screen.text
        assert "forward(): a line of a library" in screen.row
        await screen.press(*"zzz")
        assert "No row has 'FAUXzzz'" in screen.text
        await screen.press("enter")
        await screen.press("escape")
        assert f"3 of {len(FINDINGS.rows(builders.rich()))}" in screen.text
        assert "forward(): a line of a library" in screen.row

    drive(builders.rich(), steps)


def test_letters_typed_into_the_prompt_are_not_commands() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2", "slash", *"q9sy?")
        assert screen.page == "findings"
        assert screen.app.screen.query_one(Input).value == "q9sy?"

    drive(builders.rich(), steps)


def test_sorting_puts_the_largest_first_and_keeps_the_cursor_on_its_row() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("3", "j", "j")
        assert "L['x'].size()[0]" in screen.row
        await screen.press("s")
        assert "sorted by times" in screen.text
        await screen.press("s", "s", "s", "s")
        assert "sorted by cost" in screen.text
        costs = [line.split(" s ")[0].split()[-1] for line in screen.lines[3:7]]
        assert costs[0] == "0.60"
        assert "L['x'].size()[0]" in screen.row
        await screen.press("S")
        assert "len(stats)" in screen.lines[3]
        await screen.press("s", "s", "s")
        assert "sorted by" not in screen.lines[-2]

    drive(builders.rich(), steps)


def test_enter_opens_the_finding_then_its_code_and_backspace_returns() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("j", "j", "j", "enter")
        assert screen.page == "findings"
        assert "forward(): Python branches" in screen.row
        text = await screen.press("enter")
        assert screen.page == "code"
        assert ">13  y13" in text
        await screen.press("backspace", "backspace")
        assert screen.page == "overview"

    drive(builders.rich(), steps)


def test_y_copies_markdown_and_Y_shows_it() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("4", "y")
        copied = screen.app.clipboard
        assert copied.startswith("**the branch depends on the value of a tensor**\n")
        assert "```python\nif h.norm() > 100.0:\n```" in copied
        assert "- where: `25_hot_loop_break.py:13 in forward`" in copied
        assert "clipboard" in screen.text
        assert "**the branch depends" in await screen.press("Y")
        assert screen.page == "breaks"
        assert "**the branch" not in await screen.press("escape")

    drive(builders.rich(), steps)


def test_o_starts_the_editor_at_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "25_hot_loop_break.py").write_text("x = 1\n")
    started: list[list[str]] = []
    monkeypatch.setenv("EDITOR", "nano -w")
    monkeypatch.setattr(
        "compilescope.views.tui._screen.subprocess.run", lambda words, check: started.append(words)
    )
    monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True, raising=False)

    async def steps(screen: Driver) -> None:
        await screen.press("4", "o")

    drive(FakeSource(builders.rich(), FakeCode(tmp_path)), steps)
    assert started == [["nano", "-w", "+13", str(tmp_path / "25_hot_loop_break.py")]]


def test_o_says_why_it_cannot(tmp_path: Path) -> None:
    async def steps(screen: Driver) -> None:
        assert "25_hot_loop_break.py:13 is not on this machine" in await screen.press("4", "o")
        assert "this row names no file" in await screen.press("9", "o")

    drive(builders.rich(), steps)

    async def without_editor(screen: Driver) -> None:
        assert "set $EDITOR" in await screen.press("4", "o")

    drive(FakeSource(builders.rich(), FakeCode(tmp_path)), without_editor)


def test_help_lists_every_key_that_works_and_explains_the_columns() -> None:
    async def steps(screen: Driver) -> None:
        text = await screen.press("4", "question_mark")
        assert "how often the program left a graph here" in text
        for key in (*_keys.GRID, *_keys.PAGE, *_keys.TABLE, *_keys.EXPLORER):
            assert key.help in text, key
        await screen.press("escape")
        assert screen.page == "breaks"
        text = await screen.press("tab", "f1")
        assert "one line down" in text

    drive(builders.rich(), steps, size=(120, 80))


def test_tab_reaches_the_detail_which_scrolls() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("6", "tab")
        detail = screen.app.screen.query_one(Detail)
        assert screen.app.screen.focused is detail
        await screen.press("j", "j", "j")
        assert detail.scroll_y == 3

    drive(builders.rich(), steps, size=(80, 24))


def test_the_palette_goes_to_a_screen() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("ctrl+p")
        await screen.press(*"go: recomp")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        await screen.pilot.pause(0.2)
        assert screen.page == "recompiles"

    drive(builders.rich(), steps)


def test_a_click_moves_the_cursor_a_header_sorts_and_a_tab_changes_the_screen() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("3")
        await screen.pilot.click("#table", offset=(10, 2))
        await screen.settled()
        assert "len(stats)" in screen.row
        await screen.pilot.click("#table", offset=(5, 0))
        assert "sorted by times" in await screen.settled()
        await screen.pilot.click("#nav", offset=(10, 0))
        await screen.settled()
        assert screen.page == "findings"
        await screen.pilot.click("#table", offset=(20, 3), times=2)
        await screen.settled()
        assert screen.page == "code"

    drive(builders.rich(), steps)


def test_q_quits_and_ctrl_c_does_not() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("ctrl+c")
        assert screen.app.is_running
        await screen.pilot.press("q")
        await screen.pilot.pause(0.2)
        assert not screen.app.is_running

    drive(builders.rich(), steps)


def test_r_reads_the_recording_again() -> None:
    source = FakeSource(builders.rich())

    async def steps(screen: Driver) -> None:
        await screen.press("r")
        await screen.until(lambda: source.loads == 2)

    drive(source, steps)


def test_e_writes_a_web_page_or_says_why_not() -> None:
    async def steps(screen: Driver) -> None:
        assert "wrote report.html" in await screen.press("e")
        assert "no web page: report.html exists" in await screen.press("e")

    drive(builders.rich(), steps)


def test_no_bar_has_more_than_eight_keys() -> None:
    shown = [key for key in (*_keys.GRID, *_keys.PAGE, *_keys.TABLE, *_keys.EXPLORER) if key.bar]
    assert len(shown) <= 8
