from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import diffs
import pytest

from compilescope.views.html.diff import render


class Tags(HTMLParser):
    """All start tags with their attributes, and the text outside of the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("build", [diffs.real, diffs.same, diffs.full, diffs.hostile, diffs.huge])
def test_a_page_that_runs_and_fetches_nothing(build):
    page = Tags(render(build()))
    names = {name for name, _ in page.tags}
    assert names <= _KNOWN, names - _KNOWN
    attributes = {name for _, attrs in page.tags for name in attrs}
    assert not {a for a in attributes if a.startswith("on")} | attributes & {"src", "style", "action"}
    assert all(attrs["href"].startswith("#") for _, attrs in page.tags if "href" in attrs)
    policies = [attrs["content"] for name, attrs in page.tags if "http-equiv" in attrs]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


_TAGS = "html head meta title style body a header p strong span main section h1 h2 h3 div dl dt dd code ul li"
_KNOWN = {*_TAGS.split(), "table", "thead", "tr", "th", "tbody", "td", "details", "summary", "footer"}


def test_base_stands_left_and_head_right():
    page = " ".join(Tags(render(diffs.full())).texts)
    assert page.index("Findings gone") < page.index("New findings")
    for shown in (
        "2.13.0 → 2.14.1",
        "extern gemm (cuBLAS), 1 launch",
        "triton template, 1 launch",
        "not counted",
        "rung 64",
    ):
        assert shown in page


def test_a_line_number_has_no_thousands_separator():
    diff = diffs.full()
    far = replace(diff.findings.new[0], line=12345)
    assert "net.py:12345" in render(replace(diff, findings=replace(diff.findings, new=[far])))


def test_what_is_left_out_is_said():
    assert "and 2,500 more" in render(diffs.huge(3000))


def test_equal_diffs_give_equal_bytes():
    assert render(diffs.full()) == render(diffs.full())


def test_a_huge_diff_stays_small():
    assert len(render(diffs.huge()).encode()) < 1_600_000
