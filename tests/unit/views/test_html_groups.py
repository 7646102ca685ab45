"""How rows of the page are grouped: rungs by ladder, seconds by phase, resumed frames under their own."""

from __future__ import annotations

from dataclasses import replace

import builder_below as below
import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis import report_run as run
from compilescope.views.html import render
from compilescope.views.html._format import outcomes, share
from compilescope.views.html._groups import MAX_PHASES, as_tree, ladders, phase_table, standing
from compilescope.views.html._shelf import Row


def rows(items):
    return [Row(f"r{n}", item) for n, item in enumerate(items)]


def test_rungs_stand_in_their_ladders_and_sizes_from_small_to_large() -> None:
    other = replace(below.buckets()[0], graph="7/0")
    first, second = ladders(rows([*below.buckets(), other]))
    assert (len(first.rungs), len(second.rungs)) == (6, 1)
    assert (first.calls, first.most_hits, first.most_calls) == (211, 120, 120)
    assert [(size, rung) for size, _, rung in first.sizes] == [
        ({"tokens": 16}, "tokens=16"),
        ({"tokens": 40}, "tokens=64"),
        ({"tokens": 61}, "tokens=64"),
        (None, "tokens=64"),
    ]


def test_inputs_that_differ_between_rungs_are_told_and_the_others_counted() -> None:
    first, second, *_ = below.buckets()
    made = [
        replace(first, concretized={"x": [16, 4], "w": [4, 4], "b": [4]}),
        replace(second, concretized={"x": [64, 4], "w": [4, 4], "b": [4]}, graph=first.graph),
    ]
    (ladder,) = ladders(rows(made))
    assert ladder.varied == {"x"}
    (alone,) = ladders(rows(made[:1]))
    assert alone.varied == {"x", "w", "b"}
    page = render(replace(builders.rich(), buckets=made))
    assert page.count("2 inputs of the same shape on each rung") == 2
    assert "w = [4, 4]" not in page


def test_a_long_tail_of_sizes_is_folded_and_none_is_lost() -> None:
    seen = replace(
        below.sizes()[0], rows=[run.SizeRow({"n": n}, 90 - n, "counted") for n in range(1, 41)], more={}
    )
    page = render(replace(builders.rich(), sizes=[seen]))
    section = page.partition('id="sizes"')[2].partition("</section>")[0]
    opened, _, folded = section.partition("<summary>24 more sizes</summary>")
    assert [f">n = {n}<" in opened for n in range(1, 41)] == [n <= 16 for n in range(1, 41)]
    assert all(f">n = {n}<" in folded for n in range(17, 41))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"refused": "no"}, "refused"),
        ({"failed": "boom"}, "failed"),
        ({"live": False}, "dropped by a reset"),
        ({"hits": None}, "hits unknown"),
        ({"hits": 0}, "never hit"),
        ({"hits": 3}, "used"),
        ({"kind": "eager", "hits": 3}, "ran eager"),
        ({"kind": "eager", "hits": 0}, "not needed"),
    ],
)
def test_what_became_of_a_rung(change, word) -> None:
    assert standing(replace(run.Bucket("0/0", {"s": 1}, "pin"), **change))[0] == word


@given(st.dictionaries(st.text(max_size=5), st.floats(0, 100), max_size=20))
def test_no_second_is_lost_between_the_columns(spent) -> None:
    row = run.FramePhases("f", "a.py", 1, "p", spent, {"backward": 1.0}, 0.0)
    table = phase_table(run.Phases(spent, {"backward": 1.0}), rows([row]))
    assert len(table.names) <= MAX_PHASES
    for cells in (table.total, table.rows[0][1]):
        assert sum(cell or 0.0 for cell in cells) == pytest.approx(sum(spent.values()) + 1.0)


def test_what_goes_on_after_a_break_stands_under_its_function() -> None:
    first, own, resumed, *_ = builders.rich().frames
    assert as_tree([resumed, first, own]) == [own, resumed, first]


def test_shares_are_widths() -> None:
    assert (share(1, 4), share(0, 4), share(None, 4), share(1, None)) == ("25", "0", "0", "0")
    assert (share(1, 10**9), share(9, 4)) == ("0.5", "100")


def test_outcomes_are_counted() -> None:
    assert outcomes({"miss": 2, "hit": 1}) == "1 hit, 2 miss"
    assert outcomes("miss") == "miss"


def test_the_page_has_the_change_the_kernels_and_the_rungs() -> None:
    page = render(builders.rich())
    for wanted in (
        '<span class="added">+    history[step] = x</span>',
        "explained in <span",
        "triton_tem_fused_addmm_relu_1",
        "the next takes 1.18 times as long",
        "never hit",
        "the guard <code>tokens &lt; 512</code> does not admit it",
        "Open when the process was killed.",
        "inductor_config.max_autotune",
        "mutated inputs (1 instances)",
        "equal when traced: tied together",
    ):
        assert wanted in page, wanted


def test_sections_without_facts_are_not_drawn() -> None:
    page = render(builders.empty())
    for absent in ('id="buckets"', 'id="sizes"', 'id="phases"', 'id="cuda-graphs"'):
        assert absent not in page
