"""80x24 works, 200 columns are used, below 60x16 the explorer says what it needs."""

from __future__ import annotations

import builders
import pytest
from explorer_driver import Driver, drive

from compilescope.views.tui._pages import PAGES


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (200, 50)])
def test_nothing_is_wider_or_higher_than_the_terminal(size: tuple[int, int]) -> None:
    async def steps(screen: Driver) -> None:
        for page in PAGES:
            await screen.press(page.key)
            assert len(screen.lines) == size[1]
            assert {len(line) for line in screen.lines} == {size[0]}
            assert "q quit" in screen.lines[-1]
            assert screen.app.page is not None
            assert screen.app.page.page.question[:40] in screen.lines[1]

    drive(builders.rich(), steps, size=size)


@pytest.mark.parametrize("size", [(59, 24), (80, 15), (20, 5)])
def test_too_small_a_terminal_is_told_what_is_needed(size: tuple[int, int]) -> None:
    async def steps(screen: Driver) -> None:
        assert f"{size[0]}x{size[1]}" in screen.text
        await screen.pilot.resize_terminal(80, 24)
        assert "Compiling took" in await screen.settled()

    drive(builders.rich(), steps, size=size)


def test_a_wide_terminal_shows_the_row_beside_the_table_and_more_columns() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("3")
        wide = screen.lines
        assert "│" in wide[10]
        assert "kind" in wide[2]
        await screen.pilot.resize_terminal(80, 24)
        await screen.settled()
        assert "│" not in screen.text
        assert "kind" not in screen.lines[2]
        assert "len(history)" in screen.row

    drive(builders.rich(), steps, size=(200, 50))


def test_the_overview_keeps_room_for_findings_at_24_lines() -> None:
    async def steps(screen: Driver) -> None:
        findings = screen.lines.index(next(line for line in screen.lines if "Fix first" in line))
        assert len(screen.lines) - findings >= 7

    drive(builders.rich(), steps, size=(80, 24))
