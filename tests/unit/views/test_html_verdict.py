"""The head of the page: each thing is said once, and no figure is shown for what was not counted."""

from __future__ import annotations

import re
from dataclasses import replace

import builders

from compilescope.analysis.report import Diagnosis, Missing, Report
from compilescope.views.html import render

WHY = "Nothing was compiled: every function broke, or was skipped, before its first operation."


def _text(report: Report) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", render(report).split("<main", 1)[1]).split())


def test_what_the_verdict_says_is_not_said_again_below_it() -> None:
    empty = builders.empty()
    late = Diagnosis("attached_late", "Capture began late.")
    told = replace(empty.verdict, sentences=[WHY])
    text = _text(replace(empty, verdict=told, diagnoses=[Diagnosis("no_operation_compiled", WHY), late]))
    assert text.count(WHY) == 1
    assert "Capture began late." in text


def test_calls_that_nothing_counts_are_named_where_the_count_stands() -> None:
    base = builders.rich()
    left = replace(base, totals=replace(base.totals, uncounted_functions=1))
    assert "; those of 1 skipped function not counted" in _text(left)
    assert "not counted" not in _text(base)


def test_a_fact_that_two_ranks_lack_is_named_once_above() -> None:
    lacks = [Missing("runtime_hits of a.py:3", "why"), Missing("runtime_hits of a.py:3", "why")]
    text = _text(replace(builders.empty(), missing=[*lacks, Missing("exit_status", "nobody saw it")]))
    above = text[text.index("Not captured.") : text.index("see why")]
    assert above.count("how often a.py:3 ran") == 1
    assert "exit status" in above


def test_a_killed_program_whose_calls_were_not_counted_says_so() -> None:
    empty = builders.empty()
    killed = replace(empty.recording, complete=False, counts_as_of=None)
    assert "did not close its recording: its calls were not counted." in _text(
        replace(empty, recording=killed)
    )
