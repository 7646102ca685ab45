from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (math.nan, "unknown"),
        (math.inf, "unknown"),
        (0, "0 s"),
        (0.0000042, "4 us"),
        (0.0009996, "1.0 ms"),
        (0.0042, "4.2 ms"),
        (0.042, "42 ms"),
        (0.0996, "0.10 s"),
        (0.86, "0.86 s"),
        (9.996, "10 s"),
        (94.2, "94 s"),
        (99.6, "1 min 40 s"),
        (119.9, "2 min 00 s"),
        (3599.7, "1 h 00 min"),
        (3725, "1 h 02 min"),
        (-0.5, "-0.50 s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_990, "10 kB"),
        (38_000, "38 kB"),
        (999_900, "1.0 MB"),
        (1_240_000, "1.2 MB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_size(value: int | None, text: str) -> None:
    assert units.size(value) == text


def test_count_is_plural_but_for_one_and_groups_thousands() -> None:
    assert units.count(1, "compile") == "1 compile"
    assert units.count(0, "compile") == "0 compiles"
    assert units.count(12345, "process", "processes") == "12,345 processes"
    assert units.count(None, "graph break") == "unknown graph breaks"


def test_moment_is_utc_to_the_second_and_leaves_other_text_alone() -> None:
    assert units.moment("2026-11-29T10:00:01Z") == "2026-11-29 10:00:01 UTC"
    assert units.moment("2026-11-29T12:00:01.442+02:00") == "2026-11-29 10:00:01 UTC"
    assert units.moment("0001-01-01T00:00:00+10:00") == "0001-01-01T00:00:00+10:00"
    assert units.moment("2026-11-29T10:00:01") == "2026-11-29 10:00:01 UTC"
    assert units.moment("soon") == "soon"
    assert units.moment(None) is None


def test_percent() -> None:
    assert units.percent(0.86, 1.15) == "75 %"
    assert units.percent(1, 0) == units.percent(None, 1) == units.percent(1, None) == "unknown"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ascii", "plain ascii"),
        ("näïve 漢字 →", "näïve 漢字 →"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\tb", "a    b"),
        ("a\nb", "a\\nb"),
        ("\u202egpj", "\\u202egpj"),
        ("\x9b2J\x00", "\\x9b2J\\x00"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_visible_spells_out_what_a_terminal_would_act_on(text: str, shown: str) -> None:
    assert units.visible(text) == shown


def test_visible_keeps_what_it_is_told_to() -> None:
    assert units.visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@given(st.text())
def test_visible_text_is_printable_and_stable(text: str) -> None:
    once = units.visible(text)
    assert once.isprintable()
    assert units.visible(once) == once


@given(st.floats(min_value=0, max_value=10**7))
def test_seconds_never_shows_more_than_three_figures_of_one_unit(value: float) -> None:
    number = units.seconds(value).split()[0]
    assert len(number.replace(".", "")) <= 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (math.nan, "unknown"),
        (0.0, "0 us"),
        (2.514, "2.51 us"),
        (466.4, "466 us"),
        (999.4, "999 us"),
        (999.6, "1.0 ms"),
        (3410.0, "3.4 ms"),
        (31_600.0, "32 ms"),
    ],
)
def test_microseconds(value: float | None, text: str) -> None:
    assert units.microseconds(value) == text
