from __future__ import annotations

import re
from dataclasses import replace

import diffs
import pytest

from compilescope.views.text.diff import render, why_miss

ALL = (diffs.real, diffs.same, diffs.full, diffs.hostile, diffs.huge)


@pytest.mark.parametrize("build", ALL)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_too_wide_and_nothing_moves_the_cursor(build, width):
    for text in (render(build(), width=width), why_miss(build(), width=width)):
        assert max(map(len, text.splitlines())) <= width
        assert all(char.isprintable() or char == "\n" for char in text)
        assert text.endswith("\n")


@pytest.mark.parametrize("build", ALL)
def test_ascii_is_ascii(build):
    assert render(build(), ascii=True).isascii()
    assert why_miss(build(), ascii=True).isascii()


def test_the_environment_comes_first_then_the_verdict():
    lines = render(diffs.full()).splitlines()
    assert lines[0] == "Not the same environment: torch 2.13.0 → 2.14.1. Times are not compared."
    assert lines[1] == "HEAD is worse."


def test_every_section_is_there():
    text = render(diffs.full())
    for shown in (
        "NEW FINDINGS (1)\n  + [high] net.py:7\n    f(): sizes\n    fix: pad `x`",
        "FINDINGS GONE (1)\n  - [note] net.py:7",
        "FINDINGS CHANGED (1)\n  ! [high] net.py:7",
        "recompiles 1 → 7",
        "  Net.forward net.py:12 (rank 0, 1)\n    split: 1 graph (12 ops) → 2 graphs in 2 parts",
        "forward, mm: extern gemm (cuBLAS) → triton template",
        "kernel: new triton pointwise",
        "mm 16x64 x 64x64; a draw by their times: mm 1.5 ms → triton_mm",
        "x.size(0): 8 → not counted; gone 8",
        "fx_graph [0/0] forward, Net.forward net.py:12 (rank 0, 1): miss → miss\n    inductor_config",
        "rung 64: pad, 12 hits → pin, refused",
        "rung 128: none → pad, 1 hit",
        "HEAD: kernels (eager)",
    ):
        assert shown in text
    assert "recompiles 1 7 +6 compiling 2.00 s 30 s × 15.00" in " ".join(text.split())
    assert "fusion" not in text  # neither run knows it
    assert "graphs" not in text.split("COUNTS")[1].split("GRAPHS SPLIT")[0]  # equal


def test_a_long_section_says_how_much_is_left_out():
    assert "and 2,980 more: compilescope diff BASE HEAD --format json" in render(diffs.huge())


def test_color_adds_nothing_but_color():
    colored = render(diffs.full(), color=True)
    assert "\x1b[1m" in colored
    assert re.sub(r"\x1b\[\d+m", "", colored) == render(diffs.full())


def test_equal_runs_are_one_sentence():
    text = render(diffs.same())
    assert text.startswith("No difference: the same findings, counts, graphs, kernels and cache keys.\n")
    assert "FINDINGS" not in text


def test_why_miss_tells_old_and_new_and_why_it_cannot():
    text = why_miss(diffs.full())
    assert text.startswith("2 look-ups: 1 key changed, 0 the same, 1 unknown.\n")
    assert "inductor_config[max_autotune] (changed)\n      - False\n      + True" in text
    assert "HEAD bypassed the cache: x" in text


def test_why_miss_of_a_lost_entry():
    lost = replace(diffs.full().cache_keys[0], status="same", reason="the key is the same: gone", changes=[])
    text = why_miss(replace(diffs.full(), cache_keys=[lost]))
    assert text.startswith("1 look-up: 0 keys changed, 1 the same (1 missed all the same), 0 unknown.\n")
    assert "the key is the same: gone" in text


def test_why_miss_says_once_what_holds_for_many_look_ups():
    lost = replace(diffs.full().cache_keys[0], status="same", reason="the key is the same: gone", changes=[])
    rows = [replace(lost, compile_id=f"0/{n}") for n in range(30)]
    lines = why_miss(replace(diffs.full(), cache_keys=rows)).splitlines()
    assert sum("the key is the same: gone" in line for line in lines) == 1
    assert [line for line in lines if "[0/19]" in line]
    assert "  and 10 more" in lines


def test_why_miss_of_runs_without_a_cache():
    from compare_runs import made

    from compilescope.compare import compare

    assert why_miss(compare(made(), made())).startswith("No look-up of a compile cache was recorded")
