from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from dataclasses import replace

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.analysis import report as r
from compilescope.views.finding_words import fact_words
from compilescope.views.text import render

ANSI = re.compile(r"\x1b\[\d*m")
ALL = builders.ALL


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def assert_fits(text: str, width: int = 80, max_lines: int = 24) -> None:
    lines = text.split("\n")
    assert lines.pop() == ""
    assert len(lines) <= max_lines
    assert max(map(columns, lines)) <= width
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("build", ALL)
@pytest.mark.parametrize(("width", "max_lines"), [(80, 24), (60, 22), (100, 24), (200, 60)])
@pytest.mark.parametrize("ascii", [False, True])
def test_any_report_fits_the_page(build, width, max_lines, ascii) -> None:
    text = render(build(), width=width, max_lines=max_lines, ascii=ascii)
    assert_fits(text, width, max_lines)
    assert text.isascii() or not ascii


def test_the_sample_of_a_growing_list() -> None:
    assert render(builders.history_grows()).splitlines() == [
        "compilescope: 24_history_grows.py exited 0 · torch 2.13.0 CPU · 1 process",
        "Compiling took 0.86 s of 1.15 s (75 %). attend() hit the recompile limit: 4 of",
        "its 12 calls ran WITHOUT torch.compile. It did not settle: every call differed.",
        "  8 compiles · 7 recompiles · 1 refused · 0 graph breaks · 4 of 12 calls eager",
        "FIX FIRST",
        "1 attend() recompiles because a list grows                 24_history_grows.py:8",
        "      for h in history:                len(history) 0 -> 1 -> ... -> 8",
        "  cost  0.60 s in 7 recompiles (measured), 4 eager calls, and later calls that",
        "        fit no graph",
        "  fix   keep a preallocated tensor of fixed size and write into it",
        "  note  torch's own warning blames len(stats): it changed twice, history on all",
        "        8; fixing stats alone will not help",
        "2 same function, second cause: a dict grows               24_history_grows.py:10",
        "      for v in stats.values():         len(stats) 0 -> 1 -> 2",
        "Not captured: nothing. Called from main(), 24_history_grows.py:19",
        "Recording  compilescope-24_history_grows.21398.compilescope (38 kB)",
        "Next       compilescope advise     compilescope report     compilescope tui",
    ]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("old.compilescope", "compilescope advise old.compilescope"),
        ("a run.compilescope", "compilescope advise 'a run.compilescope'"),
        ("a;rm -rf.compilescope", "compilescope advise 'a;rm -rf.compilescope'"),
        ("deep/" * 20 + "r.compilescope", "compilescope advise RECORDING (that one; report and tui too)"),
        ("esc\x1b[31m.compilescope", "compilescope advise RECORDING (that one; report and tui too)"),
        ("two\nlines.compilescope", "compilescope advise RECORDING (that one; report and tui too)"),
    ],
)
def test_the_next_command_names_the_recording_where_another_would_be_read(path: str, told: str) -> None:
    report = builders.rich()
    report = replace(report, recording=replace(report.recording, path=path))
    last = render(report, named=True).splitlines()[-1]
    assert last.startswith(f"Next       {told}")
    assert len(last) <= 80
    assert "RECORDING" not in render(report).splitlines()[-1]


def test_color_adds_nothing_but_color() -> None:
    for build in ALL:
        plain, colored = render(build()), render(build(), color=True)
        assert "\x1b" not in plain
        assert ANSI.sub("", colored) == plain != colored


def test_an_empty_report_says_why() -> None:
    text = render(builders.empty())
    assert "WHY\n  - No torch.compile call was reached" in text
    assert "FIX FIRST" not in text


def test_a_diagnosis_beside_findings_is_not_lost() -> None:
    report = replace(builders.history_grows(), diagnoses=[r.Diagnosis("cached", "All came from a cache.")])
    assert "Also: All came from a cache." in render(report)


def test_what_is_left_out_is_counted() -> None:
    lines = render(builders.huge()).splitlines()
    shown = sum(bool(re.match(r"\d+ frame_\d+\(\)", line)) for line in lines)
    assert f"and {3000 - shown:,} more: compilescope advise" in lines
    assert 1 <= shown < 3000
    assert any(re.fullmatch(r"reason .*; and 3,000 more", line) for line in lines)


def test_dropped_detail_is_announced() -> None:
    long = replace(builders.history_grows().worst[0], note="word " * 60, cost="cost " * 30)
    lines = render(replace(builders.history_grows(), worst=[long] * 3)).splitlines()
    assert "more on these: compilescope advise" in lines


def test_missing_facts_damage_and_incompleteness_are_shown() -> None:
    text = " ".join(render(builders.rich()).split())
    assert "Not captured: autotune timings (torch 2.13.0 has no hook that CompileScope knows)" in text
    assert "kernels (Inductor was not used: backend aot_eager); and 1 more" in text
    assert "Damaged: 1 place: torn line at events.jsonl:48213" in text
    assert "Incomplete: the program did not close its recording; counts are as of 2026" in text
    assert "Records this version does not know: future_kind (12)" in text


def test_unknown_is_never_zero() -> None:
    text = render(builders.unknown())
    assert "unknown compiled calls, unknown eager calls" in text
    assert "torch unknown" in text
    assert "how is unknown" in text


def test_a_long_path_keeps_both_ends() -> None:
    worst = replace(builders.history_grows().worst[0], file="/home/" + "deep/" * 40 + "model.py", line=7)
    line = next(
        x for x in render(replace(builders.history_grows(), worst=[worst])).splitlines() if x[0] == "1"
    )
    assert re.search(r"  /home/.*….*model\.py:7$", line)


def test_several_processes_and_versions_are_named() -> None:
    base = builders.history_grows()
    other = replace(base.processes[0], id="rank1", torch="2.12.1", device="NVIDIA H200")
    text = render(replace(base, processes=[*base.processes, other]))
    assert "exited 0 · torch 2.12.1/2.13.0 CPU/NVIDIA H200 · 2 processes" in text.replace("\n", " ")


texts = st.text(max_size=200) | st.sampled_from(builders.ATTACKS)


@settings(max_examples=60, deadline=None)
@given(
    title=texts, code=st.none() | texts, detail=st.none() | texts, note=st.none() | texts,
    file=st.none() | texts, times=st.integers(0, 30), width=st.integers(60, 130), ascii=st.booleans(),
)  # fmt: skip
def test_property_any_text_fits(title, code, detail, note, file, times, width, ascii) -> None:
    worst = r.Worst("recompile", title, file, 3, title, code, detail, note, note, file)
    missing = [r.Missing(title, detail or "")] * times
    damage = [r.Damage(title, note or "", code or "")] * times
    base = builders.history_grows()
    report = replace(
        base,
        worst=[worst] * times,
        missing=missing,
        verdict=replace(base.verdict, sentences=[title, note or ""]),
        recording=replace(base.recording, path=title, name=code or "", complete=False, counts_as_of=file),
        processes=[replace(base.processes[0], damage=damage)],
        unknown_records={title: times},
        diagnoses=[r.Diagnosis("x", title)] * times,
    )
    assert_fits(render(report, width=width, ascii=ascii), width)


def test_import_is_light() -> None:
    code = (
        "import sys, compilescope.views.text, compilescope.views.json\n"
        "heavy = {'pandas', 'numpy', 'plotly', 'jinja2', 'rich', 'torch', 'msgspec'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_was_not_captured_is_said_in_words() -> None:
    told = [fact_words(fact) for fact in ("runtime_hits of a.py:9", "counts_as_of", "code of a_b.py:9")]
    assert told == ["how often a.py:9 ran", "counts as of", "code of a_b.py:9"]


def test_a_run_without_a_call_of_compiled_code_counts_none_as_eager() -> None:
    assert "no compiled call" in render(builders.empty())
    assert "of 0 calls" not in render(builders.empty())


def test_calls_that_nothing_counts_are_named_beside_those_that_are_counted() -> None:
    base = builders.history_grows()
    left = replace(base, totals=replace(base.totals, uncounted_functions=2))
    assert "4 of 12 calls eager\n  calls of 2 skipped functions not counted\n" in render(left)
    assert "not counted" not in render(base)
    empty = builders.empty()
    assert "not counted" not in render(replace(empty, totals=replace(empty.totals, uncounted_functions=1)))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_next_commands_fit(width: int) -> None:
    (row,) = [line for line in render(builders.empty(), width=width).splitlines() if line.startswith("Next")]
    assert len(row) <= width
    assert "compilescope advise" in row
