"""What a recording says is text, whatever it says, and never ends the explorer."""

from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from explorer_driver import Driver, FakeCode, FakeSource, drive

from compilescope.analysis import report as r
from compilescope.views.tui import Document
from compilescope.views.tui._pages import PAGES


class HostileCode(FakeCode):
    def source(self, file: str, process: str | None) -> str | None:
        return "\n".join(builders.ATTACKS) + "\n" + "x" * 10_000

    def documents(self, compile_id: str, process: str | None) -> list[Document]:
        return [Document(text, "python", lambda text=text: text) for text in builders.ATTACKS]


@pytest.mark.parametrize(
    ("size", "keys"),
    [((80, 24), ("j", "s", "G", "enter", "Y", "escape")), ((160, 30), ("G", "question_mark", "escape"))],
)
def test_attacks_in_every_string_stay_text_on_every_screen(
    size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async def steps(screen: Driver) -> None:
        for page in PAGES:
            await screen.press(page.key)
            for key in keys:
                await screen.pilot.press(key)
                assert all(line.isprintable() for line in screen.lines)
            assert len(screen.lines) == size[1]

    drive(FakeSource(builders.hostile(), HostileCode()), steps, size=size)


def test_markup_is_shown_as_it_was_written() -> None:
    title = "[bold red]x[/] [@click=app.quit]y[/] [link='http://z']"
    base = builders.rich()
    report = replace(
        base, findings=[], worst=[replace(base.worst[0], title=title)], verdict=r.Verdict([title], None, None)
    )

    async def steps(screen: Driver) -> None:
        assert screen.text.count("[@click=app.quit]y[/]") == 3
        assert title in await screen.press("2")
        await screen.press("y")
        assert screen.app.is_running

    drive(report, steps, size=(160, 40))


def test_escape_sequences_and_bidi_overrides_are_made_visible() -> None:
    base = builders.rich()
    report = replace(base, findings=[], worst=[replace(base.worst[0], title="\x1b[2Jgone \u202egnp.exe")])

    async def steps(screen: Driver) -> None:
        assert r"\x1b[2Jgone \u202egnp.exe" in screen.text

    drive(report, steps)


def test_a_search_over_attacks_finds_text_and_not_patterns() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2", "slash", *"[bold", "enter")
        assert "[bold red]markup" in screen.text

    drive(builders.hostile(), steps, size=(160, 40))


def test_a_line_of_ten_thousand_characters_scrolls_and_is_cut_with_a_word() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("2", "enter", "tab", "G")
        await screen.press(*["l"] * 3)
        assert "xxxx" in screen.text

    drive(FakeSource(builders.rich(), HostileCode()), steps)


def test_many_rows_can_be_walked_sorted_and_searched() -> None:
    async def steps(screen: Driver) -> None:
        for number in "2458":
            await screen.press(number, "G", "s", "slash", "1", "7", "enter")
        assert screen.app.is_running

    drive(builders.huge(20_000), steps)
