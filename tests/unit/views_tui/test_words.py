from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from compilescope.views.tui._words import chain, fit, number, one_line, place, wrap


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], ""),
        ([(0, 1)], "0 -> 1"),
        ([(0, 1), (1, 2)], "0 -> 1 -> 2"),
        ([(n, n + 1) for n in range(9)], "0 -> 1 -> 2 -> ... -> 9"),
        ([(1, 2), (5, 6)], "1 -> 2, 5 -> 6"),
        ([(n, -n) for n in range(1, 6)], "1 -> -1, 2 -> -2, 3 -> -3, and 2 more"),
        ([(None, True)], "None -> True"),
        ([("torch.float32", "torch.float16")], "torch.float32 -> torch.float16"),
    ],
)
def test_changes_read_as_a_chain_where_one_leads_to_the_next(changes, expected) -> None:
    assert chain(changes) == expected


@given(st.text(), st.integers(0, 40), st.sampled_from(["left", "right"]), st.booleans())
def test_a_fitted_cell_has_exactly_its_width(text, width, cut, right) -> None:
    assert cell_len(fit(one_line(text), width, cut=cut, right=right)) == width


def test_the_cut_end_is_the_one_that_says_less() -> None:
    assert fit("very/deep/model.py:14", 12, cut="left") == "…model.py:14"
    assert fit("a long sentence", 8) == "a long …"
    assert fit("7", 4, right=True) == "   7"


@given(st.text(), st.integers(4, 30), st.integers(1, 5))
def test_wrapped_lines_fit_and_are_no_more_than_asked(text, width, longest) -> None:
    lines = wrap(one_line(text), width, longest)
    assert 1 <= len(lines) <= longest
    assert all(cell_len(line) <= width for line in lines)


@given(st.text(alphabet="ab ", max_size=60), st.integers(4, 20))
def test_wrapping_loses_no_letter(text, width) -> None:
    assert "".join(wrap(text, width)).replace(" ", "") == text.replace(" ", "")


def test_a_megabyte_is_cut_and_the_cut_is_told() -> None:
    text = one_line("x" * 1_000_000)
    assert len(text) < 2_100
    assert text.endswith("(998,000 more characters)")


@given(st.text())
def test_one_line_is_one_printable_line(text) -> None:
    assert one_line(text).isprintable()


def test_unknown_is_not_zero() -> None:
    assert (number(None), number(0), number(12345)) == ("?", "0", "12,345")


def test_a_place_may_lack_its_line_or_everything() -> None:
    assert (place("a.py", 3), place("a.py", None), place(None, 3)) == ("a.py:3", "a.py", "")
