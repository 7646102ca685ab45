from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.views.html._format import chain, clip, finalize, known_sum, snippet, value
from compilescope.views.html._shelf import Shelf, allot, slug


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=15), st.integers(0, 3000))
def test_allot_gives_no_more_than_wanted_or_than_there_is(wanted, room) -> None:
    given_ = allot(wanted, room)
    assert all(0 <= number <= want for number, want in zip(given_, wanted, strict=True))
    assert sum(given_) == min(sum(wanted), room)
    assert all(number >= min(want, room // len(wanted)) for number, want in zip(given_, wanted, strict=True))


def test_allot_gives_what_is_left_in_order() -> None:
    assert allot([100, 0, 100], 90) == [60, 0, 30]
    assert allot([], 10) == []


@given(st.text())
def test_slug_is_a_plain_id(text) -> None:
    assert slug(text)
    assert set(slug(text)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    assert len(slug(text)) <= 90


def test_slug_tells_apart_what_its_alphabet_cannot() -> None:
    assert slug("train.py 12") == "train-py-12"
    assert slug("模型.py") != slug("漢字.py")
    assert slug("a" * 100) != slug("a" * 101)


def test_ids_that_meet_are_numbered() -> None:
    rows = Shelf().rows("break", ["a.py", "a:py", "a py"], 3, str)
    assert [row.id for row in rows.shown] == ["break-a-py", "break-a-py-2", "break-a-py-3"]


def test_rows_know_what_they_left_out() -> None:
    rows = Shelf().rows("x", list(range(5)), 2, str)
    assert (len(rows.shown), rows.rest, rows.total) == (2, [2, 3, 4], 5)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([], ""),
        ([(0, 1), (1, 2)], "0 → 1 → 2"),
        ([(32, 12), (64, 8)], "32 → 12, 64 → 8"),
        ([(0, 1), (0, 2), (1, 3)], "0 → 1 → 2 → 3"),
        ([(n, n + 1) for n in range(20)], "0 → 1 → 2 → 3 → … → 17 → 18 → 19 → 20"),
        ([(None, ""), ("", "torch.float32")], "None → '' → torch.float32"),
        ([(0.1, 0.30000000000000004)], "0.1 → 0.3"),
    ],
)
def test_chain(changes, text) -> None:
    assert chain(changes) == text


def test_long_chains_of_pairs_are_cut() -> None:
    assert chain([(0, n) for n in range(1, 30)]).count("…") == 1


def test_finalize_shows_every_kind_of_value() -> None:
    assert finalize(1234567) == "1,234,567"
    assert finalize(True) == "yes"
    assert "unknown" in finalize(None)
    assert finalize("a\x1bb") == "a\\x1bb"
    assert value("") == "''"


def test_clip_says_how_long_it_was() -> None:
    assert clip("x" * 5000, 10) == "x" * 10 + "… (5,000 characters)"


def test_snippet_has_the_lines_around() -> None:
    sources = {"a.py": "1\n2\n3\n4\n5\n6\n7\n8\n9"}
    assert snippet(sources, "a.py", 5) == [(n, str(n)) for n in range(2, 9)]
    assert snippet(sources, "a.py", 1)[0] == (1, "1")
    assert snippet(sources, "a.py", 10) == snippet(sources, "a.py", 0) == snippet(sources, "b.py", 1) == []
    assert snippet(sources, None, 1) == snippet(sources, "a.py", None) == []


def test_known_sum_ignores_unknown() -> None:
    assert known_sum([complex(1, 2), complex(3, 4)], "imag") == 6
    assert known_sum([], "imag") is None
