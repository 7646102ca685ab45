"""A finding in words: what is absent is unknown, never an error and never zero."""

from __future__ import annotations

from dataclasses import replace

import builders
import pytest

from compilescope.views.finding_words import all_findings, finding_words


def test_a_finding_in_full() -> None:
    words = all_findings(builders.rich())[0]
    assert (words.rule, words.kind, words.page) == (
        "container_growth",
        "limit_hit",
        "docs/rules/container_growth",
    )
    assert words.cost == "7 recompiles (counted), 0.60 s compiling (measured), 4 eager calls (counted)"
    assert words.costs[1] == ("0.60 s compiling", "measured: wall clock of those recompiles")
    assert words.saving is not None
    assert words.saving.startswith("0.60 s of this run")


def test_facts_stand_in_where_no_rule_has_looked() -> None:
    report = replace(builders.rich(), findings=[])
    words = all_findings(report)
    assert [w.title for w in words] == [w.title for w in report.worst]
    assert words[0].page is None
    assert words[0].fix == report.worst[0].fix
    assert words[0].cost == report.worst[0].cost


@pytest.mark.parametrize(
    ("saving", "executions", "expected"),
    [
        (None, 0, "unknown"),
        (None, 200, "unknown; ranked by 200 executions"),
        ({"seconds": None}, 1, "unknown; ranked by 1 execution"),
        ({"seconds": 0.5, "per_1000_steps_s": None, "basis": "guess"}, 3, "0.50 s of this run (guess)"),
        (
            {"seconds": 2.0, "per_1000_steps_s": 4.0},
            0,
            "2.00 s of this run, 4.00 s per 1,000 further steps",
        ),
    ],
)
def test_what_fixing_saves(saving, executions, expected) -> None:
    assert finding_words({"saving": saving, "executions": executions}).saving == expected


def test_an_empty_finding_is_all_unknown() -> None:
    words = finding_words({})
    assert (words.title, words.severity, words.kind, words.saving) == ("", "unrated", "finding", "unknown")
    assert words.costs == words.changes == words.refs == []


def test_a_cost_without_a_number_or_a_basis_says_so() -> None:
    words = finding_words({"cost": {"guards": None, "compile_s": 1.0}})
    assert words.cost == "guards unknown (basis unknown), 1.00 s compiling (basis unknown)"
