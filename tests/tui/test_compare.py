"""Two recordings in the explorer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import builders
from explorer_driver import Driver, FakeSource, drive

from compilescope.analysis.report import KeyChange
from compilescope.cli._explore import RecordingSource
from compilescope.compare import Diff, compare, recorded
from compilescope.compare.diff import (
    ChoiceChange,
    FunctionChange,
    FunctionShape,
    KernelChange,
    KeyRow,
    Place,
    SizeRange,
    SizesChange,
)
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.units import visible
from compilescope.views.tui._card import markdown
from compilescope.views.tui.tables.compare import COMPARE, differences

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "corpus" / "recordings"
BROKEN, FIXED = (RECORDINGS / f"24_history_grows{end}.zip" for end in ("", "_fixed"))


@cache
def diff(base: Path = FIXED, head: Path = BROKEN) -> Diff:
    return compare(*(recorded(load(open_recording(path))) for path in (base, head)))


def with_everything() -> Diff:
    """Every kind of row, and hostile names in it."""
    where = Place("[b]f\x1b", "tr[i]n.py", 3)
    return replace(
        diff(),
        functions=[FunctionChange(where, "split", FunctionShape(1, 1, [3]), FunctionShape(2, 2, [1, 2]))],
        kernels=[KernelChange(where, "forward", "choice", ["mm"], "extern gemm", "triton", 1, 2)],
        choices=[ChoiceChange(where, "mm", ["8x8"], "a", "b", None, None, 0.5, None, True)],
        sizes=[SizesChange(where, "x.size(0)", SizeRange(1, 8, 3, 9), None, [], [1, 8], 0.5)],
        cache_keys=[
            KeyRow(where, "fx_graph", "0/0", None, "hit", "miss", "changed", None,
                   [KeyChange("system.torch", "changed", "2.13", "2.14")]),
            KeyRow(where, "fx_graph", "0/1", None, "hit", "hit", "same", None, []),
        ],
    )  # fmt: skip


def test_rows_are_text_and_worse_comes_first() -> None:
    for found in (diff(), diff(BROKEN, FIXED), diff(BROKEN, BROKEN), with_everything()):
        rows = differences(found)
        assert [row.worse is True for row in rows] == sorted((r.worse is True for r in rows), reverse=True)
        for row in rows:
            assert all(visible(column.cell(row)).isprintable() for column in COMPARE.columns)
            assert markdown(COMPARE.card(row)).startswith("**")
        keys = [COMPARE.key(row) for row in rows]
        assert len(set(keys)) == len(keys)


def test_each_kind_of_difference_has_its_row() -> None:
    rows = differences(with_everything())
    kinds = {row.kind for row in rows}
    wanted = {"new finding", "count", "function", "kernel", "tuned choice", "sizes", "cache key"}
    assert kinds >= wanted
    (key,) = [row for row in rows if row.kind == "cache key"]
    assert key.worse
    assert key.lists == [("parts that differ", ["system.torch changed: 2.13 -> 2.14"])]
    gone = differences(diff(BROKEN, FIXED))
    assert [row.worse for row in gone if row.kind == "gone finding"] == [False]


def source(found: Any) -> FakeSource:
    made = FakeSource(builders.history_grows())
    made.diff = lambda: found
    return made


def test_a_recording_is_named_at_the_prompt_and_compared_with() -> None:
    shown = source((diff(), ""))

    async def steps(screen: Driver) -> None:
        assert "Press c and name one" in await screen.press("D")
        assert "D Compare" in screen.lines[0]
        await screen.press("1", "c", *"base.compilescope", "enter")
        text = await screen.until(
            lambda: screen.app.opened is not None and screen.app.opened.diff is not None
        )
        assert shown.base == "base.compilescope"
        assert screen.page == "compare"
        assert "head" in text
        assert "new finding" in text
        assert "worse" in screen.row
        await screen.press("2")
        assert "D " in screen.lines[0]  # named now that there is something on it
        await screen.press("D", "s", "S", "slash", *"count", "enter", "n", "y")
        assert screen.app.clipboard.startswith("**")

    drive(shown, steps, size=(140, 40))


def test_what_cannot_be_compared_with_is_said_and_the_same_is_the_same() -> None:
    async def unreadable(screen: Driver) -> None:
        await screen.press("c", *"[no]", "enter")
        await screen.until(lambda: "cannot be compared with" in screen.text)

    async def same(screen: Driver) -> None:
        await screen.press("c", "x", "enter")
        await screen.until(lambda: "Nothing differs" in screen.text)

    drive(source((None, "[no] cannot be compared with: it is not there")), unreadable)
    drive(source((replace(diff(BROKEN, BROKEN), not_compared=[]), "")), same)


def test_escape_leaves_the_prompt_and_compares_nothing() -> None:
    shown = source((diff(), ""))

    async def steps(screen: Driver) -> None:
        await screen.press("c", "x", "escape")
        assert shown.base is None
        assert screen.page == "overview"
        await screen.press("c", "enter")
        assert shown.base is None

    drive(shown, steps)


def test_two_real_recordings() -> None:
    reads = RecordingSource(BROKEN, FIXED)
    opened = reads.load()
    assert opened.diff is not None
    assert opened.diff.direction == "worse"
    assert len(differences(opened.diff)) == len(differences(diff()))
    reads.compare_with("nowhere.compilescope")
    opened = reads.load()
    assert opened.diff is None
    assert "nowhere.compilescope cannot be compared with" in opened.diff_problem
