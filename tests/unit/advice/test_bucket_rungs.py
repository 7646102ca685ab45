"""Rungs of a function that was captured several times: told once, and only what no graph of it makes good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from report_rows import graph

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Bucket, Report

MakeReport = Callable[..., Report]
PLACE = {"file": "train.py", "line": 4, "function": "forward", "backend": "bucketed-1"}


def rung(label: str, **fields: object) -> Bucket:
    return replace(Bucket("0/0", {"n": 8}, "pad", compile_s=2.0, hits=10, rung=label, **PLACE), **fields)


def refused(label: str, why: str, **fields: object) -> Bucket:
    return rung(label, compile_s=None, hits=None, refused=why, **fields)


def findings(report: MakeReport, *rungs: Bucket) -> list[Finding]:
    return [f for f in advise(report(buckets=list(rungs), graphs=[graph()])) if f.rule.startswith("bucket_")]


def test_what_another_graph_has_is_no_refusal(report: MakeReport) -> None:
    of_one = refused("<=8", "n is x.size(0) == 1 in this graph", graph="0/1")
    assert findings(report, rung("<=8"), replace(of_one, elsewhere=True)) == []
    (found,) = findings(report, rung("<=8", state="no grad"), replace(of_one, state="grad"))
    assert "the rung <=8 was refused: n is x.size(0) == 1" in found.summary


def test_one_guard_is_one_finding_in_all_graphs_and_states(report: MakeReport) -> None:
    why = {"guard": "Eq(Mod(n, 4), 1)", "user_line": "train.py:9"}
    rows = [
        refused(label, reason, state=state, graph=entry, **more)
        for state in ("grad", "no grad")
        for entry, reason, more in (
            ("0/0", "a guard excludes this size", why),
            ("0/1", "n is 1 in this graph", {}),
        )
        for label in ("<=8", "<=16")
    ]
    (found,) = findings(report, rung("<=64"), *rows)
    assert found.summary.endswith(
        "2 rungs were refused, <=8, <=16: a guard excludes this size, Eq(Mod(n, 4), 1), train.py:9"
    )
    assert found.identity.endswith("Eq(Mod(n, 4), 1)")


def test_refusals_of_graphs_that_a_reset_dropped_are_past(report: MakeReport) -> None:
    assert findings(report, rung("<=8"), refused("<=16", "no", live=False)) == []


def test_a_rung_is_idle_when_no_graph_uses_it(report: MakeReport) -> None:
    copies = [rung("<=8", hits=0, state="no grad", graph="0/1"), rung("<=16", hits=0, state="no grad")]
    (found,) = findings(report, rung("<=8", state="grad"), *copies, rung("<=16", hits=0, state="grad"))
    assert found.summary.endswith("1 rung compiled and never used: <=16")
    assert found.cost["compile_s"].value == 4.0
    assert findings(report, rung("<=8"), rung("dynamic", kind="dynamic", hits=0)) == []


def test_where_no_call_came_the_ladder_is_not_to_blame(report: MakeReport) -> None:
    assert findings(report, rung("<=8", hits=0), rung("dynamic", kind="dynamic", hits=0)) == []


def test_unknown_hits_are_not_none(report: MakeReport) -> None:
    assert findings(report, rung("<=8"), rung("<=16", hits=None)) == []


def test_a_graph_without_rungs_is_compiled_and_not_eager(report: MakeReport) -> None:
    one = rung("bypassed", kind="eager", compile_s=None, dims={}, bypassed="n is x.size(0) == 1")
    (found,) = findings(report, rung("<=8"), one)
    assert found.summary.endswith("and go to a graph without rungs, since n is x.size(0) == 1")
    assert (found.rule, found.severity) == ("bucket_traffic_outside", "low")
    assert found.fix.endswith("such calls run compiled, as without a ladder")
