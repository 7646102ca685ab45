"""What must hold for the report of any recording, looked at over the whole corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from corpus_live import CORPUS, programs

from compilescope.analysis import Report, build_report
from compilescope.recording import open_recording


@pytest.fixture(params=programs(), scope="module")
def report(request: pytest.FixtureRequest) -> Report:
    return build_report(open_recording(CORPUS / "recordings" / f"{request.param}.zip"))


def test_totals_are_the_sums_of_the_rows(report: Report) -> None:
    totals = report.totals
    assert totals.graph_break_events == sum(row.events for row in report.graph_breaks)
    assert totals.graph_break_sites == len({(row.file, row.line) for row in report.graph_breaks})
    assert totals.graphs == len([g for g in report.graphs if not g.backward])
    assert totals.limit_hits == len({(row.function, row.file, row.line) for row in report.limit_hits})
    assert totals.compiles == sum(len(frame.compile_ids) for frame in report.frames)
    assert totals.recompiles == sum(frame.recompiles for frame in report.frames)


def test_every_recompile_has_a_cause(report: Report) -> None:
    explained = {(r.process, i) for r in report.recompiles for i in r.compile_ids}
    assert len(explained) == report.totals.recompiles + report.totals.blocked_by_limit


def test_rows_are_consistent(report: Report) -> None:
    for row in report.recompiles:
        assert len(row.changes) == row.count
        assert len(row.blocked_changes) == row.blocked_by_limit
        assert len(row.compile_ids) == row.count + row.blocked_by_limit
        assert not row.file.startswith("torch/")


def test_an_unknown_number_has_its_reason(report: Report) -> None:
    reasons = [m.fact for m in report.missing]
    for row in report.graph_breaks:
        if row.runtime_hits is None:
            assert f"runtime_hits of {row.file}:{row.line}" in reasons


def test_the_report_is_plain_json(report: Report) -> None:
    text = json.dumps(asdict(report), allow_nan=False)
    assert all(type(v) in (int, float, str, bool, type(None)) for v in _leaves(json.loads(text)))


def test_no_record_of_this_version_is_unknown_or_damaged(report: Report) -> None:
    assert report.unknown_records == {}
    assert [d for p in report.processes for d in p.damage] == []


def test_reading_a_recording_imports_neither_torch_nor_pandas() -> None:
    path = CORPUS / "recordings" / "24_history_grows.zip"
    code = (
        "import sys; from compilescope.recording import open_recording;"
        "from compilescope.analysis import build_report;"
        f"build_report(open_recording({str(path)!r}));"
        "print([m for m in ('torch', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def test_exclusive_phases_add_up_to_the_compile_wall(report: Report) -> None:
    phases = report.phases
    if phases.wall_s:
        assert phases.sum_s == pytest.approx(phases.wall_s, rel=0.02)
        assert sum(frame.compile_s for frame in phases.frames) == pytest.approx(phases.sum_s, rel=0.001)


def test_the_phases_of_a_graph_add_up_to_its_compile(report: Report) -> None:
    """A backward that was compiled with its forward is in the compile of both."""
    spent: dict[tuple[str, int, str], list[float]] = {}
    for graph in report.graphs:
        known = spent.setdefault((graph.process, graph.epoch, graph.compile_id), [0.0, 0.0])
        known[0] += sum(graph.phases.values())
        if not any(fact.fact == "phases" for fact in graph.missing):
            is_own = not graph.backward or graph.backward_compiled == "lazily"
            known[1] += graph.compile_s or 0.0 if is_own else 0.0
    for phases_s, compile_s in spent.values():
        assert phases_s == pytest.approx(compile_s, rel=0.02)


def test_no_record_of_our_own_is_unknown(report: Report) -> None:
    assert report.unknown_records == {}


def test_what_is_null_in_a_graph_is_said_to_be_missing(report: Report) -> None:
    for graph in report.graphs:
        facts = {missing.fact for missing in graph.missing}
        nulls = {
            name for name in ("calls", "sizes_seen", "compile_s", "kernels") if getattr(graph, name) is None
        }
        assert nulls <= facts
