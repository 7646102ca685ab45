"""Compile time as boxes: nothing overlaps, nothing is lost, what is too narrow is summed."""

from __future__ import annotations

import itertools

import builder_below as below
import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis import report_run as run
from compilescope.views.html import render
from compilescope.views.html._icicle import icicle, title

SPENT = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(1e-6, 1e3), max_size=8)


def phases(*frames: tuple[dict[str, float], dict[str, float]]) -> run.Phases:
    rows = [
        run.FramePhases(f"f{n}", "a.py", n, "p", forward, backward, 0.0)
        for n, (forward, backward) in enumerate(frames)
    ]
    return run.Phases(frames=rows)


@given(st.lists(st.tuples(SPENT, SPENT), max_size=6))
def test_property_every_level_is_as_wide_as_the_one_above_at_most(frames) -> None:
    levels = icicle(phases(*frames), list("abcdefgh"))
    for level in levels:
        assert all(box.width > 0 for box in level)
        ends = [(box.left, box.left + box.width) for box in level]
        assert all(end <= start + 1e-6 for (_, end), (start, _) in itertools.pairwise(ends))
        assert ends[-1][1] <= 100 + 1e-6
    if levels:
        assert sum(box.width for box in levels[1]) == pytest.approx(100)
        leaves = [box for level in levels for box in level if box.is_leaf]
        assert sum(box.width for box in leaves) == pytest.approx(100)


def test_levels_are_all_function_direction_phase() -> None:
    levels = icicle(below.phases(), ["inductor", "dynamo", "aot_autograd"])
    assert [[title(box) for box in level] for level in levels] == [
        ["compiling: 1.55 s"],
        ["Model.forward: 1.30 s", "attend: 0.25 s"],
        ["forward: 1.10 s", "backward: 0.20 s", "forward: 0.25 s"],
        ["inductor: 0.60 s", "dynamo: 0.30 s", "aot_autograd: 0.20 s", "inductor: 0.20 s", "dynamo: 0.25 s"],
    ]
    assert [box.phase for box in levels[3]] == [0, 1, 2, 0, 1]
    assert levels[3][3].path == ("Model.forward", "backward", "inductor")


def test_what_is_too_narrow_is_summed() -> None:
    narrow = {f"n{index}": 0.001 for index in range(5)}
    levels = icicle(phases(({"wide": 5.0} | narrow, {})), ["wide", "others"])
    assert [(box.label, box.phase) for box in levels[3]] == [("wide", 0), ("5 others", 1)]


def test_without_phases_there_is_no_picture() -> None:
    assert icicle(run.Phases(), []) == []
    assert 'class="icicle"' not in render(builders.empty())
    page = render(builders.rich())
    assert 'class="icicle"' in page
    assert "Model.forward › backward › inductor" in page
