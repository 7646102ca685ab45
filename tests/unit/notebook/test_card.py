"""What a profile looks like below its cell: small, plain, and safe whatever was recorded."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.notebook._card import MAX_BYTES, card
from compilescope.notebook._frame import Frame

TAGS = {"div", "b", "code", "ol", "ul", "li"}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("build", builders.ALL)
def test_small_plain_and_well_formed(build) -> None:
    text = card(build(), "rec.compilescope")
    tags = Tags(text)
    assert len(text.encode("utf-8", "backslashreplace")) <= MAX_BYTES
    assert tags.found <= TAGS
    assert tags.attributes == []
    assert tags.open == []


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=3000) | st.sampled_from(builders.ATTACKS))
def test_property_no_text_makes_an_element_or_a_large_card(attack) -> None:
    text = card(builders.poison(builders.rich(), lambda: attack), attack)
    assert Tags(text).found <= TAGS
    assert len(text.encode("utf-8", "backslashreplace")) <= MAX_BYTES


def test_it_says_what_matters_first() -> None:
    text = card(builders.rich(), "train.compilescope")
    for fact in (
        "attend() hit the recompile limit", "<b>1.90 s</b> (13 %)", "24_history_grows.py:8",
        "for h in history:", "preallocated tensor", "recompile limit", "█", "Incomplete", "autotune timings",
        "compilescope report train.compilescope",
    ):  # fmt: skip
        assert fact in text, fact
    assert text.index("attend() hit") < text.index("Fix first")


def test_calls_that_nothing_counts_are_named_where_the_count_stands() -> None:
    base = builders.rich()
    left = replace(base, totals=replace(base.totals, uncounted_functions=1))
    assert "</b> (those of 1 skipped function not counted)" in card(left, "rec")
    assert "not counted)" not in card(base, "rec")


def test_what_is_left_out_is_counted() -> None:
    text = card(builders.huge(), "rec")
    assert "and 2,995 more findings" in text
    assert "and 2,992 more functions" in text


def test_nothing_compiled_has_no_empty_tables() -> None:
    text = card(builders.empty(), "rec")
    assert "Fix first" not in text
    assert "<ul>" not in text
    assert "No torch.compile call was reached" in text
    assert "unknown" in card(replace(builders.unknown()), "rec")


def test_the_frame_holds_any_page_and_nothing_leaves_it() -> None:
    shown = Frame('<!doctype html><script>"&quot;"</script>\udcff', 500)._repr_html_()
    assert shown.count("<") == 2
    assert 'sandbox="allow-scripts"' in shown
    assert 'height="500"' in shown
    assert "&lt;script&gt;&quot;&amp;quot;&quot;" in shown
