"""Every table over every report: cells are plain text, rows can be sorted, cards can be told."""

from __future__ import annotations

from dataclasses import replace

import builders
import pytest

from compilescope.analysis import report as r
from compilescope.units import visible
from compilescope.views.tui._card import markdown
from compilescope.views.tui._keys import EXPLORER
from compilescope.views.tui._pages import PAGES
from compilescope.views.tui.tables.findings import FINDINGS
from compilescope.views.tui.tables.recording import RECORDING
from compilescope.views.tui.tables.shapes import bar, histogram

OF_REPORTS = [page for page in PAGES if page.table is not None and page.name != "compare"]
TABLES = [page.table for page in OF_REPORTS]
NAMES = [page.name for page in OF_REPORTS]


@pytest.fixture(params=builders.ALL, ids=lambda build: build.__name__)
def report(request):
    return request.param()


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_every_cell_is_text_and_every_card_can_be_copied(table, report) -> None:
    for row in table.rows(report)[:60]:
        for column in table.columns:
            assert isinstance(column.cell(row), str)
            assert visible(column.cell(row)).isprintable()
            assert column.tone is None or column.tone(row) in ("", "warn", "bad", "faint")
        assert markdown(table.card(row)).startswith("**")


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_every_sort_key_can_be_compared_with_every_other(table, report) -> None:
    rows = table.rows(report)
    for column in table.columns:
        if column.sort is not None:
            assert len(sorted(rows, key=column.sort)) == len(rows)


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_keys_tell_rows_apart(table) -> None:
    keys = [table.key(row) for row in table.rows(builders.rich())]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_an_empty_table_says_why(table) -> None:
    assert "No torch.compile call was reached" in table.empty(builders.empty()) or table is RECORDING
    settled = table.empty(builders.rich())
    assert settled.endswith(".")
    assert "torch.compile call" not in settled


def test_each_page_has_a_question_and_a_key() -> None:
    assert len({page.key for page in PAGES}) == len(PAGES)
    shown = {key for bound in EXPLORER for key in bound.keys.split(",")}
    assert {page.key for page in PAGES} <= shown
    assert all(page.question.endswith("?") for page in PAGES)


def test_what_is_worst_of_frames_is_marked() -> None:
    table = TABLES[NAMES.index("frames")]
    status = next(column for column in table.columns if column.name == "status")
    tones = {status.cell(row): status.tone(row) for row in table.rows(builders.rich())}
    bad, warn = {"recompile limit", "failed"}, {"graph break", "recompiled"}
    assert tones == {"compiled": "", **dict.fromkeys(bad, "bad"), **dict.fromkeys(warn, "warn")}


def test_a_histogram_shows_shares_and_sums_up_what_was_not_kept() -> None:
    sizes = [r.SizeCount({"s0": 8, "s1": 2}, 1), r.SizeCount({"s0": 512, "s1": 2}, 98), r.SizeCount({}, 1)]
    lines = histogram(sizes)
    assert [line.split()[0] for line in lines] == ["s0=512,", "s0=8,", "other"]
    assert "98 %" in lines[0]
    assert all(line.rstrip()[-1] in "▏▎▍▌▋▊▉█" for line in lines)
    assert histogram([]) == []


def test_placeholders_that_were_not_recorded_are_unknown_and_not_fixed() -> None:
    table = TABLES[NAMES.index("shapes")]
    cells = {column.name: column.cell for column in table.columns}
    recorded = builders.rich().graphs[0]
    unrecorded = replace(recorded, placeholders=[], sizes_seen=None)
    assert (cells["sizes that change"](recorded), cells["tensors"](recorded)) == ("none: all fixed", "1")
    assert (cells["sizes that change"](unrecorded), cells["tensors"](unrecorded)) == ("?", "?")


def test_cache_outcomes_are_told_one_by_one_or_counted() -> None:
    table = TABLES[NAMES.index("shapes")]
    counted = replace(
        builders.rich().graphs[0], cache={"fx_graph": {"hit": 1, "miss": 2}, "aot_autograd": "bypass"}
    )
    assert ("caches", "fx_graph 1 hit, 2 miss, aot_autograd bypass") in table.card(counted).facts


def test_a_bar_is_never_longer_than_the_whole_nor_empty_for_something() -> None:
    assert bar(1, 1) == "█" * 24
    assert bar(1, 10**9) == "▏"
    assert bar(0, 5) == bar(3, 0) == ""


def test_a_finding_tells_its_change_and_its_doubts() -> None:
    found = FINDINGS.rows(builders.rich())[0]
    lists = dict(FINDINGS.card(found).groups())
    assert "+    history[step] = x" in lists["the change"]
    assert "rule: container_growth, explained in docs/rules/container_growth" in lists["how sure"]
    assert "4 eager calls: counted: calls after the recompile limit" in lists["what the costs rest on"]
