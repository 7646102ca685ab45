"""A ladder whose rungs were tuned on a CPU: the table agrees with what Inductor printed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from compilescope.advice import advise
from compilescope.analysis import Report, build_report
from compilescope.analysis.report import TunedRow
from compilescope.recording import open_recording

FOLDER = Path(__file__).parents[3] / "fixtures" / "inductor-cpu"
_TABLE = re.compile(r"AUTOTUNE (\w+)\(([^)]*)\)\n  (\w+) ([\d.]+) ms 100\.0%")


@cache
def report() -> Report:
    return build_report(open_recording(FOLDER / "tuned_ladder.zip"))


def rows() -> dict[str | None, TunedRow]:
    return {row.rung: row for site in report().tuned_sites for row in site.rows}


def test_each_rung_has_its_own_choice_and_its_calls() -> None:
    found = rows()
    assert {rung: row.calls for rung, row in found.items()} == {
        "8": 2,
        "512": 1,
        "9..4096@16": 4,
        "dynamic": 0,
    }
    assert (found["8"].label, found["512"].label, found["9..4096@16"].label) == ("8", "512", "16")
    assert all(row.emitted == row.winner_backend for row in found.values())


def test_winners_and_times_are_those_of_the_printout() -> None:
    printed = _TABLE.findall((FOLDER / "tuned_ladder.err.txt").read_text(encoding="utf-8"))
    assert len(printed) == 3
    for _, shapes, winner, milliseconds in printed:
        fitting = [row for row in rows().values() if ", ".join(row.timed_at) == shapes]
        assert winner in [row.winner for row in fitting]
        assert any(row.winner_ms == pytest.approx(float(milliseconds), abs=1e-4) for row in fitting)


def test_a_range_is_used_far_from_the_size_it_was_timed_at() -> None:
    row = rows()["9..4096@16"]
    assert (row.timed_at[0], row.calls_far, row.far_share) == ("16x256", 3, 0.75)
    assert {str(use.sizes): use.calls for use in row.uses} == {"{'s77': 900}": 3, "{'s77': 40}": 1}
    assert [missing.fact for missing in row.missing] == ["winner_config", "slowdown"]
    (found,) = [f for f in advise(report()) if f.rule == "autotuned_at_other_size"]
    assert found.cost["calls_far"].value == 3


def test_every_site_names_its_line() -> None:
    lines = {line.code for site in report().tuned_sites for line in site.lines}
    assert lines == {"return torch.relu(LAYER(x))"}
