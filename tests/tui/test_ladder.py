"""The planner's ladder on screen: pictures of it, and keys that plan again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import builders
import pytest
from explorer_driver import Driver, drive
from rich.cells import cell_len
from textual.content import Content

from compilescope.analysis.build import build_report
from compilescope.analysis.ladders import compact
from compilescope.analysis.report import Report
from compilescope.analysis.report_ladder import Ladder, LadderDrift
from compilescope.ladder.planner import CostPoint, Costs, Curve, Dynamic, Limits, Traffic, study_ladder
from compilescope.recording import open_recording
from compilescope.views.tui._ladder_picture import picture, rungs, worth

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "corpus" / "recordings"


@cache
def poor_ladder() -> Report:
    return build_report(open_recording(RECORDINGS / "38_poor_bucket_ladder.zip"))


@cache
def measured() -> Ladder:
    static = Curve.measured(CostPoint.of(size, 20 + size, 19 + size, 22 + size) for size in (16, 64, 256))
    dynamic = Curve.measured(CostPoint.of(size, 40 + 1.5 * size) for size in (16, 64, 256))
    traffic = Traffic.of([17] * 30 + [66] * 40 + [200] * 10 + [250] * 20, label="encode train.py:8")
    costs = Costs(static, (Dynamic(dynamic, 66),))
    return compact(study_ladder(traffic, costs, Limits(max_rungs=4), calls=1e6))


def text(ladder: Ladder, width: int) -> str:
    return picture(ladder, width).plain


@pytest.mark.parametrize("width", [30, 60, 78, 118, 198])
def test_the_picture_keeps_to_its_width(width: int) -> None:
    for ladder in (measured(), *poor_ladder().ladders):
        assert all(cell_len(line) <= max(width, 40) for line in text(ladder, width).splitlines())


def test_the_three_pictures_are_drawn_with_their_numbers() -> None:
    drawn = text(measured(), 100)
    assert "calls by size, and rungs" in drawn
    assert "cost of a call by number of rungs" in drawn
    assert "<- chosen" in drawn
    curve = drawn.split("cost of a call by size")[1]
    assert curve.count("o") >= 3
    assert curve.count("x") >= 2
    assert "the plan saves" in drawn
    assert "powers of two" in drawn


def test_rungs_and_their_worth_are_said_in_words() -> None:
    ladder = measured()
    assert "range 1.." in rungs(ladder) or "pads" in rungs(ladder)
    assert " us a call" in worth(ladder)
    assert "static rungs pay" in worth(ladder)
    assert "no rung pays, from 12 calls on" in worth(replace(ladder, pays=False, pays_from_calls=12.0))
    drifting = replace(ladder, drift=[LadderDrift("x.size(0)", 16, 99)], unit="elements")
    assert "drift: median x.size(0) 16 -> 99" in text(drifting, 80)
    assert "elements a call" in text(drifting, 80)


def test_markup_and_control_characters_stay_text() -> None:
    ladder = replace(measured(), symbols=["[bold]x\x1b[2J"], notes=["[red]\x07"], products={"[i]\n": [4]})
    drawn = picture(ladder, 80)
    assert isinstance(drawn, Content)
    assert "[bold]x" in drawn.plain
    assert not any(char in drawn.plain for char in "\x1b\x07")


def test_keys_plan_again_and_show_what_it_costs_at_once() -> None:
    async def steps(screen: Driver) -> None:
        first = await screen.press("L")
        assert screen.page == "ladder"
        assert "pads 32 64 128 256" in first
        assert "at most 8 rungs · multiples of 1 · pads and pins" in first
        fewer = await screen.press(*["minus"] * 6)
        assert "at most 2 rungs" in fewer
        assert "pads 64 256" in fewer or "pads 128 256" in fewer
        assert "above one artifact a size" in fewer
        aligned = await screen.press(*["a"] * 8)
        assert "multiples of 256" in aligned
        assert "pads 256" in aligned
        assert "pads 64 256" in await screen.press(*["A"] * 8) or "128 256" in screen.text
        assert "at most 3 rungs" in await screen.press("plus")
        pads = await screen.press("m")
        assert "· pads" in pads
        pins = await screen.press("m")
        assert "pins save" in pins  # no dynamic cost is known: said, and the last plan stays
        assert "calls by x.size(0)" in pins

    drive(poor_ladder(), steps)


def test_functions_are_stepped_through_and_a_row_is_copied() -> None:
    (one,) = poor_ladder().ladders
    two = replace(poor_ladder(), ladders=[one, replace(one, function="other", line=99)])

    async def steps(screen: Driver) -> None:
        await screen.press("L")
        assert "other (2 of 2)" in await screen.press("f")
        assert "the sizes of this function are not in the report" in screen.text
        assert "encode (1 of 2)" in await screen.press("F")
        await screen.press("y")
        assert "BucketLadder.pads([32, 64, 128, 256])" in screen.app.clipboard
        help_sheet = await screen.press("question_mark")
        assert "one more rung" in help_sheet

    drive(two, steps)


def test_a_run_without_changing_sizes_says_why_there_is_no_ladder() -> None:
    async def steps(screen: Driver) -> None:
        assert "No torch.compile call was reached" in await screen.press("L")
        await screen.press("plus", "a", "m", "f", "y")
        assert screen.page == "ladder"

    drive(builders.empty(), steps)


def test_it_fits_a_small_terminal_and_uses_a_wide_one() -> None:
    async def small(screen: Driver) -> None:
        assert "pads 32 64 128 256" in await screen.press("L")
        before = screen.text
        assert await screen.press("j", "j", "j") != before

    async def wide(screen: Driver) -> None:
        await screen.press("L")
        assert any("calls by" in line and "cost of a call by" in line for line in screen.lines)

    drive(poor_ladder(), small, size=(80, 24))
    drive(poor_ladder(), wide, size=(200, 50))
