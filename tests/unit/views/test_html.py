from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import builders
import plotly
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.analysis import report as r
from compilescope.views.html import _assets, render
from compilescope.views.html._code import unpack
from compilescope.views.html._render import MAX_BYTES

REPORTS = Path(__file__).parents[3] / "reports"
BUNDLE = (REPORTS / "vendor" / "plotly-basic.min.js").read_text(encoding="utf-8")


class Page(HTMLParser):
    """What a browser would make of the document, as far as these tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.policy = ""
        self.feed(text.replace(BUNDLE, ""))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        named = dict(attrs)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""
        if "id" in named:
            self.ids[named["id"] or ""] += 1
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "data")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


@pytest.mark.parametrize("build", builders.ALL)
def test_ids_are_unique_links_lead_somewhere_and_nothing_is_fetched(build) -> None:
    page = Page(render(build()))
    assert max(page.ids.values()) == 1
    assert {link for link in page.links if link[0] != "#"} == set()
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert not page.handlers
    assert not page.tags.keys() & {"img", "iframe", "object", "embed", "link", "base", "form"}


@settings(max_examples=25, deadline=None)
@given(
    st.text(max_size=60) | st.sampled_from(builders.ATTACKS),
    st.text(alphabet="<>\"'&/=#{}%[]$\\-! \n", max_size=20),
)
def test_property_no_text_makes_an_element(first, second) -> None:
    kinds = set(Page(render(builders.rich())).tags)
    turns = itertools.cycle([first, second, first + second])
    page = Page(render(builders.poison(builders.rich(), lambda: next(turns))))
    assert set(page.tags) <= kinds
    assert not page.handlers
    assert all(link.startswith("#") for link in page.links)
    assert max(page.ids.values()) == 1


@pytest.mark.parametrize("build", builders.ALL)
def test_the_policy_lists_exactly_the_scripts_in_the_page(build) -> None:
    text = render(build())
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    policy = Page(text).policy
    bundle = [BUNDLE] if 'id="bundle"' in text else []
    digests = [hashlib.sha256(script.encode()).digest() for script in [*scripts, *bundle]]
    sources = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert policy.startswith(f"default-src 'none'; script-src {' '.join(sources)};")
    assert len(scripts) >= 4
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "unsafe-eval" not in policy


def test_equal_reports_give_equal_bytes() -> None:
    assert render(builders.rich()) == render(copy.deepcopy(builders.rich()))


def test_every_section_has_its_facts() -> None:
    text = render(builders.rich())
    for fact in (
        "python train.py --lr 3e-4", "killed by SIGKILL", "3f2c1ab9d0e4", "with uncommitted changes",
        "counts are as of 2026-11-29 10:00:01 UTC", "attend() hit the recompile limit",
        "0 → 1 → 2 → 3 → 4 → 5 → 6 → 7", "GB0170", "fauxlib/blocks.py:35 forward", "goes on after the line",
        "Explanation: Detected data-dependent branching", "graph break inside a for loop", "s77 = 12",
        "resumed at 13", "1 bypass, 3 hit, 9 miss", "torch 2.13.0 has no hook that CompileScope knows",
        "events.jsonl:48213", "future_kind", "worker-1", "4 triton", "the graph break at",
        "the last batch is shorter",
    ):  # fmt: skip
        assert fact in text, fact


def test_unknown_is_written_as_unknown() -> None:
    text = render(builders.unknown()).replace(BUNDLE, "")
    assert text.count('<span class="unknown">unknown</span>') > 10
    assert not re.search(r">\s*(None|nan)\s*<", text)


def test_what_is_left_out_is_counted_and_summed() -> None:
    text = render(builders.huge())
    rows = len(re.findall(r"<(?:tbody|li)[^>]* data-item>", text))
    assert rows <= 2000
    assert "others (2,950): <code>compilescope summary REC --format json</code>" in text
    assert "and all others as one bar" in text
    shown = len(re.findall(r'<tbody id="frame-', text))
    rest_s = sum(1 / (n + 1) for n in range(shown, 3000))
    assert f"others ({3000 - shown:,})" in text
    assert f'<td class="num">{rest_s:.2f} s</td>' in text


def test_one_chart_with_at_most_forty_rows_and_the_others() -> None:
    text = render(builders.huge())
    assert text.count("data-chart=") == 1
    assert "others (2,960)" in text


def test_no_frames_no_chart_no_bundle() -> None:
    text = render(builders.empty())
    assert 'id="bundle"' not in text
    assert "data-chart=" not in text


def test_the_bundle_in_the_page_is_the_vendored_one() -> None:
    text = render(builders.rich())
    packed = re.search(r'id="bundle">([^<]*)<', text)
    assert packed
    assert unpack(packed[1]) == [BUNDLE]
    assert len(packed[1]) < 600_000


def test_size_stays_in_budget() -> None:
    assert len(render(builders.rich()).encode()) <= 1_600_000
    assert len((REPORTS / "static" / "report.css").read_bytes()) <= 20_000
    scripts = (REPORTS / "static").glob("*.js")
    assert sum(len(script.read_bytes()) for script in scripts) <= 30_000


def test_a_page_that_would_be_too_large_shows_fewer_rows() -> None:
    break_ = replace(builders.rich().graph_breaks[0], reason="r" * 399, code="c" * 3000, hint="h" * 399)
    report = replace(builders.rich(), graph_breaks=[replace(break_, line=n) for n in range(2000)])
    text = render(report)
    assert len(text.encode()) <= MAX_BYTES
    assert re.search(r"others \(1,\d{3}\)", text)


def test_lines_around_a_finding_come_from_the_sources() -> None:
    source = "\n".join(f"line_{n} = 1" for n in range(1, 40)).replace("line_13 = 1", "if h.norm() > 100.0:")
    text = render(builders.rich(), sources={"25_hot_loop_break.py": source})
    assert '<span class="here"><span class="n">   13 ›</span> if h.norm() &gt; 100.0:' in text
    assert "line_10 = 1" in text
    assert "line_9 = 1" not in text
    assert "lines of them around each finding" in text


def test_ids_do_not_depend_on_order_or_counts() -> None:
    report = builders.rich()
    turned = replace(
        report,
        graph_breaks=[replace(b, events=b.events + 5) for b in reversed(report.graph_breaks)],
        recompiles=list(reversed(report.recompiles)),
    )
    ids = set(Page(render(report)).ids)
    assert ids == set(Page(render(turned)).ids)
    assert "recompile-24-history-grows-py-8-len-history" in ids
    assert {"break-25-hot-loop-break-py-13", "compile-0-1"} <= ids


def test_same_compile_id_in_two_epochs_and_processes() -> None:
    report = builders.history_grows()
    graph = report.graphs[0]
    graphs = [graph, replace(graph, epoch=1), replace(graph, process="other")]
    ids = Page(render(replace(report, graphs=graphs))).ids
    assert {"compile-0-0", "compile-0-0-epoch-1", "compile-0-0-2"} <= set(ids)


def test_damage_is_prominent() -> None:
    damage = [r.Damage("torn line", "events.jsonl:1", "cut")]
    report = builders.history_grows()
    report = replace(report, processes=[replace(report.processes[0], damage=damage)])
    text = render(report)
    assert text.index("<strong>Damaged.</strong> 1 place") < text.index('id="verdict"')
    assert "<strong>Incomplete.</strong>" not in text


def test_missing_facts_are_named_at_the_top() -> None:
    text = render(builders.huge())
    top = text[: text.index('id="verdict"')]
    assert "<strong>Not captured.</strong> fact 0, fact 1, fact 2, fact 3 and 2,997 more" in top


def test_rows_of_several_processes_say_whose_they_are() -> None:
    report = builders.history_grows()
    other = replace(report.processes[0], id="rank1-pid7-00ff00ff", rank=1, world_size=2)
    hit = replace(report.limit_hits[0], process=other.id)
    single = render(report)
    several = render(replace(report, processes=[*report.processes, other], limit_hits=[hit]))
    assert f'process <span class="mono">{other.id}</span>' in several
    assert 'process <span class="mono">' not in single
    assert "1 of 2" in several
    assert "<dt>Ranks</dt><dd>1 of 2</dd>" in several
    assert "<dt>Ranks</dt>" not in single


def test_the_vendored_bundle_is_what_it_says() -> None:
    for row in (REPORTS / "vendor" / "SHA256SUMS").read_text().splitlines():
        digest, name = row.split()
        assert hashlib.sha256((REPORTS / "vendor" / name).read_bytes()).hexdigest() == digest
    assert "</script" not in BUNDLE.lower()
    assert "<!--" not in BUNDLE


def test_the_vendored_bundle_fits_the_installed_plotly() -> None:
    full = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    version = re.compile(r"v(\d+)\.\d+\.\d+")
    ours, theirs = (version.search(text[:200]) for text in (BUNDLE, full.read_text(encoding="utf-8")))
    assert ours is not None
    assert theirs is not None
    assert ours[1] == theirs[1]


def test_assets_of_a_wheel_come_first(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_assets, "_PACKAGE", tmp_path / "compilescope")
    assert _assets.folder() == tmp_path / "reports"
    (tmp_path / "compilescope" / "_reports").mkdir(parents=True)
    assert _assets.folder() == tmp_path / "compilescope" / "_reports"
