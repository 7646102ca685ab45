from __future__ import annotations

import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

sys.path.insert(0, str(Path(__file__).parents[1] / "views_diff"))

import diffs

from compilescope.views.markdown._page import MARKER, MAX_CHARACTERS
from compilescope.views.markdown.diff import render


@pytest.mark.parametrize("build", [diffs.real, diffs.same, diffs.full, diffs.hostile, diffs.huge])
def test_every_diff_fits_and_has_no_links(build):
    text = render(build())
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith(f"{MARKER}\n")
    tokens = [t for p in MarkdownIt("gfm-like").parse(text) for t in (p, *(p.children or ()))]
    assert not {t.type for t in tokens} & {"link_open", "image"}
    tags = {t.content.strip() for t in tokens if t.type in ("html_block", "html_inline")}
    assert all(tag.startswith("<details><summary>") for tag in tags - {MARKER, "</details>"})


def test_the_verdict_then_what_is_new_then_counts():
    text = render(diffs.full())
    order = ["**Not the same environment", "HEAD is worse.", "**New findings (1)**", "**Findings gone (1)**"]
    order += ["**Findings changed (1)**", "| recompiles | 1 | 7 | +6 |", "<summary>Kernels (2)</summary>"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "Fix: pad `x`" in text
