from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import pytest
from report_rows import failure, graph_break, limit_hit, recompile

from compilescope.advice import advise, findings_json, worst_from_findings
from compilescope.advice.catalog import catalog
from compilescope.analysis.report import Report

MakeReport = Callable[..., Report]
PAGES = Path(__file__).parents[3] / "docs" / "rules"

TEXT = (
    "class Net:\n    def forward(self, x):\n        x = x + 1\n        print(x)\n        return x * self.n\n"
)


def everything(report: MakeReport, shift: int = 0, ids: str = "0", values: int = 1) -> Report:
    return report(
        graph_breaks=[graph_break(line=4 + shift, compile_ids=[f"{ids}/0"])],
        recompiles=[
            recompile(source="self.n", holder="module_attribute", line=5 + shift, blocked_by_limit=1,
                      changes=[(values, values + 1)], compile_ids=[f"{ids}/1"])
        ],
        limit_hits=[limit_hit(line=2 + shift)],
        failures=[failure(line=5 + shift, compile_id=f"{ids}/7")],
    )  # fmt: skip


def test_identity_outlives_moved_lines_other_values_ids_and_processes(report: MakeReport) -> None:
    before = advise(everything(report), {"train.py": TEXT})
    after = advise(everything(report, shift=3, ids="5", values=90), {"train.py": "\n\n\n" + TEXT})
    assert [f.identity for f in after] == [f.identity for f in before]
    assert len({f.identity for f in before}) == len(before)
    assert all("Net.forward" in f.identity for f in before)


def test_causes_that_read_the_same_are_numbered_by_line(report: MakeReport) -> None:
    rows = report(failures=[failure(line=9), failure(line=5)])
    assert [f.identity.rsplit("|", 1)[1] for f in sorted(advise(rows), key=lambda f: f.line or 0)] == [
        "1",
        "2",
    ]


def test_json_is_plain_and_has_the_names_of_the_contract(report: MakeReport) -> None:
    found = findings_json(advise(everything(report)))
    names = {"rule", "severity", "file", "line", "function", "summary", "cost", "saving", "fix", "fix_kind"}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for row in found:
        assert names | {"confidence", "verified", "refs"} <= set(row)
        assert set(row["cost"]) - {"basis"} == set(row["cost"]["basis"])
        assert all(
            text.startswith(("measured", "counted", "estimated")) for text in row["cost"]["basis"].values()
        )


def test_refs_name_rows_and_no_row_is_explained_twice(report: MakeReport) -> None:
    rows = everything(report)
    refs = [ref for f in advise(rows) for ref in f.refs]
    assert sorted(refs) == ["failures[0]", "graph_breaks[0]", "limit_hits[0]", "recompiles[0]"]


def test_fix_first_lines_say_what_to_change_and_leave_notes_out(report: MakeReport) -> None:
    notes = report(recompiles=[recompile("training_mode", "m.training")])
    assert worst_from_findings(advise(notes)) == []
    lines = worst_from_findings(advise(everything(report)))
    assert {line.kind for line in lines} == {"limit_hit", "failure", "graph_break"}
    assert all(line.fix for line in lines)


def test_within_a_severity_the_dearest_comes_first(report: MakeReport) -> None:
    cheap = graph_break("numpy_unsupported", function="a", runtime_hits=10)
    dear = graph_break("numpy_unsupported", function="b", runtime_hits=90)
    rows = report(graph_breaks=[cheap, dear])
    assert [f.function for f in advise(rows)] == ["b", "a"]
    assert advise(replace(rows, graph_breaks=[dear, cheap]))[0].function == "b"


@pytest.mark.parametrize("make", [builders.hostile, builders.huge, builders.unknown, builders.rich])
def test_hostile_huge_and_unknown_reports_give_plain_findings(make: Callable[[], Report]) -> None:
    rows = make()
    sources: dict[str, Any] = {b.file: "def f(:\n" for b in rows.graph_breaks[:5]}
    found = advise(rows, sources)
    json.dumps(findings_json(found), allow_nan=False)
    assert all(f.rule in catalog() for f in found)


def test_braces_in_a_source_are_text_not_fields(report: MakeReport) -> None:
    (found,) = advise(report(recompiles=[recompile(source="d['{function}']{0}")]))
    assert "d['{function}']{0}" in found.summary


def test_every_rule_has_a_page_that_is_listed_and_every_page_a_rule() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")} - {"index", "gate"}
    assert pages == set(catalog())
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for rule in pages:
        page = (PAGES / f"{rule}.md").read_text(encoding="utf-8")
        assert page.startswith(f"({rule})=\n"), rule
        assert rule in index


def test_every_rule_says_what_could_make_it_wrong() -> None:
    missing = [
        rule
        for rule in catalog()
        if "## What could make this wrong" not in (PAGES / f"{rule}.md").read_text(encoding="utf-8")
    ]
    assert missing == []
