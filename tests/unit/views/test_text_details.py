"""The detail options of the summary: plain tables that fit the page, whatever was recorded."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import builders
import pytest

from compilescope.analysis.report import CacheTotals, GuardCost, Missing, Profile
from compilescope.views.text import Wanted, render, render_details
from compilescope.views.text._columns import table
from compilescope.views.text._page import Page

ALL_FACTS = Wanted(graphs=True, guards=True, buckets=True)


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.mark.parametrize("build", builders.ALL)
@pytest.mark.parametrize(("width", "ascii"), [(80, False), (60, True), (200, False)])
def test_any_report_fits(build, width, ascii) -> None:
    text = render_details(build(), ALL_FACTS, width=width, ascii=ascii)
    assert max(map(columns, text.split("\n"))) <= width
    assert all(line.isprintable() for line in text.split("\n"))
    assert text.isascii() or not ascii


def test_a_frame_in_full() -> None:
    text = render_details(builders.rich(), Wanted("attend"))
    assert "attend  24_history_grows.py:5" in text
    assert "recompile limit" in text
    assert "phases     dynamo 0.25 s" in text
    assert "recompile  len(history) (7 times, 0.60 s)" in text
    assert "[5/1]" not in text


@pytest.mark.parametrize("name", ["Model.forward", "10_batch_size_drift.py:12"])
def test_a_frame_has_its_sizes_symbols_kernels_and_memory(name) -> None:
    text = render_details(builders.rich(), Wanted(name), width=120)
    for wanted in (
        "x.size(0)=32",
        "s77     L['x'].size()[0], L['mask'].size()[0]",
        "guard   s77 > 5 10_batch_size_drift.py:14",
        "triton_tem_fused_addmm_relu_1",
        "peak 34 MB, 6 allocations",
        "triton_mm_7 won, the next takes 1.18 times as long",
    ):
        assert wanted in text, text


def test_a_method_is_found_without_its_class_and_an_unknown_name_is_an_error() -> None:
    assert "Model.forward" in render_details(builders.rich(), Wanted("forward"))
    with pytest.raises(LookupError):
        render_details(builders.rich(), Wanted("nothing"))


def test_guards_are_listed_for_one_frame_only() -> None:
    every = render_details(builders.rich(), Wanted(guards=True))
    one = render_details(builders.rich(), Wanted("Model.forward", guards=True))
    assert "3.1 us" in every
    assert "L['self'].net" not in every
    assert "L['self'].net" in one


def test_buckets() -> None:
    text = render_details(builders.rich(), Wanted(buckets=True), width=100)
    assert "tokens=1024: refused, no entry admits it: tokens < 512, from serve.py:12" in text
    line = "  5 buckets · 209 hits · 1 never hit · 1 refused · 1 failed · 2 calls outside"
    assert line in render(builders.rich()).splitlines()
    assert "bucket" not in render(replace(builders.rich(), buckets=[], findings=[], worst=[]))


def test_a_table_cuts_its_widest_column_and_counts_what_is_left() -> None:
    rows = [["a" * 90, "1"], ["b", "22"]] + [["c", "3"]] * 600
    lines = table(Page(40), ["name", ">n"], rows)
    assert lines[0].split() == ["name", "n"]
    assert all(len(line) <= 40 for line in lines)
    assert lines[1].endswith("   1")
    assert lines[-1] == "  and 102 more"


def test_guard_checking_is_a_share_of_a_call() -> None:
    report = builders.rich()
    graph = next(g for g in report.graphs if g.guards is not None)
    known = GuardCost(
        graph.function,
        graph.file,
        graph.line,
        graph.process,
        entries=2,
        guards=40,
        check_us=25.0,
        cold_check_us=200.0,
        calls=300,
        checks_s=0.0075,
        call_us=125.0,
        call_basis="estimated: between two readings",
        share=0.2,
    )
    why = Missing("call_us", "the program told of no steps")
    unknown = replace(known, call_us=None, call_basis=None, share=None, missing=[why])
    text = render_details(replace(report, guard_costs=[known]), Wanted(guards=True), width=120)
    assert "25 us" in text
    assert "20 %" in text
    assert "one call is estimated: between two readings" in text
    assert "tries several entries" in text
    text = render_details(replace(report, guard_costs=[unknown]), Wanted(guards=True), width=120)
    assert "unknown" in text
    assert "the program told of no steps" in text


def test_caches_say_what_they_gave_and_why_nothing() -> None:
    profile = Profile("pid1-ab", "bypass", "no job id", None, None, 0.001)
    missing = [Missing("remote", "no remote cache was asked")]
    caches = CacheTotals(
        fx_graph={"hit": 3, "miss": 1},
        pgo={"bypass": 1},
        saved_s={"fx_graph": 12.5},
        profiles=[profile],
        missing=missing,
    )
    text = render_details(replace(builders.rich(), caches=caches), Wanted(graphs=True), width=120)
    assert "FX graph      3 hit, 1 miss, saved 12 s by torch's account" in text
    assert "PGO profile   1 bypass, no job id" in text
    assert "remote        no remote cache was asked" in text
    assert "AOTAutograd   not asked" in text
