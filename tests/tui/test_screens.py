"""Every screen answers its question, and says why when it has nothing to show."""

from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from explorer_driver import Driver, FakeCode, FakeSource, drive

from compilescope.analysis.report import Missing
from compilescope.views.tui._pages import PAGES, Page

SHOWN = {
    "overview": (
        "Compiling took 1.90 s of 14 s (13 %).",
        "killed by SIGKILL",
        "Fix first",
        "attend(): len(history) grows",
    ),
    "findings": (
        "critical",
        "attend(): len(history) grows between calls",
        "keep a preallocated tensor of fixed size",
        "0.60 s compiling (measured)",
    ),
    "recompiles": ("len(history)", "0 -> 1 -> ... -> 7", "0.60 s", "1 by the recompile limit: 7 -> 8"),
    "breaks": ("the branch depends on the value of a tensor", "200", "Use torch.cond or torch.where."),
    "frames": ("attend", "recompile limit", "forward, resumed at 13", "graph break"),
    "shapes": ("[0/0]", "none: all fixed", "s77 L['x'].size()[0]", "37"),
    "code": ("24_history_grows.py:8", "> 8  y8 = torch.relu(y7)"),
    "eager": ("recompile limit (8): len(history)", "Unsupported", "graph break inside a for loop"),
    "recording": ("torn line at events.jsonl:48213", "autotune timings", "future_kind", "killed by SIGKILL"),
    "kernels": ("triton_tem_fused", "triton pointwise", "1 a call, 37 calls of the graph"),
    "buckets": ("tokens=256", "never hit", "refused", "1,320", "serve.py:9 in step"),
    "guards": ("Model.forward", "3.1 us", "41.7 us with cold ones", "115 us"),
    "ranks": ("pid21398-ab12cd34", "1.90 s", "killed by SIGKILL", "attend() 0.86 s"),
    "compare": ("Press c and name one",),
    "output": ("went to its own terminal", "compilescope run --live"),
    "ladder": ("was called with different sizes often enough",),
    "timeline": ("killed in cpp compiler", "dynamo > inductor > cpp compiler", "1.30 s", "inductor 0.80 s"),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_screen_shows_what_its_question_asks_for(page: Page) -> None:
    async def steps(screen: Driver) -> None:
        text = await screen.press(page.key)
        assert screen.page == page.name
        assert page.question in text
        assert [wanted for wanted in SHOWN[page.name] if wanted not in text] == []

    drive(builders.rich(), steps)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_screen_with_nothing_to_show_says_why(page: Page) -> None:
    async def steps(screen: Driver) -> None:
        text = " ".join((await screen.press(page.key)).split())
        if page.name in ("recording", "ranks"):
            assert "process" in text
        elif page.name in ("compare", "output"):  # not of what was compiled
            assert all(wanted in text for wanted in SHOWN[page.name])
        elif page.name == "code":
            assert "Choose a row on another screen and press enter" in text
        else:
            assert "No torch.compile call was reached" in text

    drive(builders.empty(), steps)


def test_what_is_unknown_is_not_shown_as_zero() -> None:
    async def steps(screen: Driver) -> None:
        overview = screen.text
        assert "compiling     unknown" in overview
        assert "? ran compiled code" in overview
        assert screen.row.split()[1] == "?" if (await screen.press("4")) else False

    drive(builders.unknown(), steps)


def test_the_tree_of_frames_opens_compiles_and_graphs_and_closes_again() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("5")
        closed = len([line for line in screen.lines if "[0/" in line])
        await screen.press("l")
        assert len([line for line in screen.lines if "[0/" in line]) > closed
        assert "recompile: len(history)" in screen.text
        await screen.press("j", "enter")
        assert "aot_eager" in screen.text
        await screen.press("j", "h")
        assert "[0/0]" in screen.row
        await screen.press("h", "h", "h")
        assert screen.row.startswith(">+attend")
        assert "[0/1]" not in "\n".join(screen.lines[:18])

    drive(builders.rich(), steps, size=(200, 50))


def test_the_histogram_of_sizes_has_a_bar_a_size() -> None:
    async def steps(screen: Driver) -> None:
        text = await screen.press("6")
        bars = {line.split()[0]: line.count("█") for line in text.splitlines() if "█" in line}
        assert bars == {"s77=12": 24, "s77=8": 5}
        assert "L['x'].size()[1] = 64  matches a weight" in text

    drive(builders.rich(), steps, size=(120, 70))


def test_texts_are_read_only_when_looked_at() -> None:
    source = FakeSource(builders.rich())

    async def steps(screen: Driver) -> None:
        code = source.code
        await screen.press("3")
        assert not [asked for asked in code.read if asked.startswith("graph")]
        await screen.press("enter")
        assert screen.page == "code"
        assert not [asked for asked in code.read if asked.startswith("graph")]
        text = await screen.press("j")
        assert [asked for asked in code.read if asked.startswith("graph")] == ["graph 0/1"]
        assert "class GraphModule" in text
        assert "This text was not recorded" in await screen.press("j")

    drive(source, steps)


def test_the_source_around_the_line_is_shown_with_the_line_marked() -> None:
    async def steps(screen: Driver) -> None:
        text = await screen.press("4")
        assert "> 13  y13 = torch.relu(y12)" in text
        assert "10  y10" in text
        assert "16  y16" in text

    drive(FakeSource(builders.rich(), FakeCode()), steps)


def test_a_recording_that_cannot_be_read_ends_the_explorer_with_the_problem() -> None:
    problem = FileNotFoundError(2, "No such file or directory")

    async def steps(screen: Driver) -> None:
        pass

    assert drive(FakeSource(problem), steps).problem is problem


def test_without_color_everything_is_told_by_words_and_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def steps(screen: Driver) -> None:
        await screen.press("5")
        strips = screen.app.screen._compositor.render_strips()
        colors = {segment.style.color for strip in strips for segment in strip if segment.style}
        triplets = [color.triplet for color in colors if color is not None and color.triplet is not None]
        assert triplets
        assert all(red == green == blue for red, green, blue in triplets)
        assert "recompile limit" in screen.row

    drive(builders.rich(), steps)


@pytest.mark.parametrize("ended", ["still running", "exited 0"])
def test_a_running_program_has_neither_settled_nor_kept_back_its_exit_status(ended: str) -> None:
    async def steps(screen: Driver) -> None:
        text = await screen.press("1")
        assert "ended 9.00 s after the start" in text
        assert ("settle" in text) == (ended == "exited 0")
        assert ("exit status" in text) == (ended == "exited 0")
        assert "counts as of 2026-11-30 02:00:01 UTC" in text

    rich = builders.rich()
    recording = replace(rich.recording, ended=ended, counts_as_of="2026-11-30T02:00:01.970+00:00")
    verdict = replace(rich.verdict, sentences=[], settled=True, last_compile_s=9.0)
    missing = [Missing("exit_status", "nobody saw the program end")]
    drive(replace(rich, recording=recording, verdict=verdict, missing=missing), steps)
