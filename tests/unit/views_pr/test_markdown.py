from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from compilescope.views.markdown import report
from compilescope.views.markdown._page import MARKER, MAX_CHARACTERS, Block, page

GFM = MarkdownIt("gfm-like")


@pytest.mark.parametrize("build", builders.ALL)
def test_every_report_fits_and_is_found_again(build):
    text = report.render(build())
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith(f"{MARKER}\n")
    assert text == report.render(build())


def test_the_verdict_comes_first():
    parts = report.render(builders.rich()).split("\n\n")
    assert parts[1] == "### CompileScope: train.py"
    assert parts[2] == "**Compiling took 1.90 s of 14 s (13 %).**"


def test_five_findings_in_full_and_the_rest_behind_a_click():
    text = report.render(builders.rich())
    assert text.count("\n- fix: ") == 5
    more = len(builders.rich().findings) - 5
    assert f"<details><summary>{more} more findings</summary>" in text
    assert "```diff\n--- a/24_history_grows.py" in text


def test_only_our_own_tags_are_in_a_hostile_report():
    tags = {
        token.content.strip()
        for parsed in GFM.parse(report.render(builders.hostile()))
        for token in (parsed, *(parsed.children or ()))
        if token.type in ("html_inline", "html_block")
    }
    for tag in tags - {MARKER, "</details>"}:
        assert tag.startswith("<details><summary>")
        assert tag.count("<") == 3


def test_what_is_missing_or_damaged_is_said():
    text = report.render(builders.rich())
    assert "a process did not close its recording: counts may be too low" in text
    assert "the recording is damaged in 1 place" in text
    assert "not recorded: autotune timings" in text


def test_nothing_to_fix():
    assert "Nothing to fix was found." in report.render(builders.empty())


def test_what_does_not_fit_is_named():
    base = builders.huge()
    many = replace(base, findings=[f | {"diff": "+" + "x" * 190 + "\n" * 50} for f in base.findings])
    long = [
        f | {"summary": "y" * 500, "fix": "z" * 500, "diff": ("+" + "x" * 190 + "\n") * 60}
        for f in many.findings
    ]
    text = report.render(replace(many, findings=long))
    assert len(text) <= MAX_CHARACTERS
    assert "_Left out, to stay below 60,000 characters: " in text
    assert "the verdict" not in text.split("_Left out")[1]


blocks = st.lists(st.builds(Block, st.text(max_size=300), st.text(max_size=3000)), max_size=30)


@given(blocks, st.integers(2_000, 5_000))
def test_the_size_holds_for_any_blocks_and_they_stay_in_order(found, most):
    text = page(found, most)
    assert len(text) <= most
    kept = [block for block in found if block.text in text]
    if "_Left out" not in text:
        assert kept == found


@given(st.text(min_size=1, max_size=40), st.integers(1, 400))
@settings(max_examples=25, deadline=None)
def test_the_size_holds_for_any_text_in_a_report(piece, times):
    long = builders.poison(builders.rich(), lambda: piece * times)
    findings = [
        f | dict.fromkeys(("summary", "fix", "diff", "code"), piece * times) for f in builders.rich().findings
    ]
    text = report.render(replace(long, findings=findings))
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith(f"{MARKER}\n\n### CompileScope: ")
