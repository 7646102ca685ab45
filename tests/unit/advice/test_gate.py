from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_rows import graph_break, limit_hit, recompile

from compilescope.advice import advise
from compilescope.advice import baseline as baselines
from compilescope.advice.baseline import Baseline, baseline_of
from compilescope.advice.budgets import Budgets, find_budgets, parse_budgets
from compilescope.advice.gate import Verdict, check
from compilescope.analysis.report import ProcessInfo, Report
from compilescope.errors import UsageError

MakeReport = Callable[..., Report]


def gate(rows: Report, baseline: Baseline | None, budgets: Budgets | None = None) -> Verdict:
    return check(rows, advise(rows), budgets or Budgets(), baseline)


def known(rows: Report) -> Baseline:
    return baseline_of(rows, advise(rows))


def test_the_first_run_passes_and_says_how_to_make_a_baseline(report: MakeReport) -> None:
    verdict = gate(report(graph_breaks=[graph_break()]), None)
    assert verdict.exit_status == 0
    assert "--write-baseline" in verdict.of("info")[0].text


def test_an_unchanged_program_passes_its_own_baseline(report: MakeReport) -> None:
    rows = report(graph_breaks=[graph_break()], recompiles=[recompile("dtype", "x")])
    assert gate(rows, known(rows)).outcomes == ()


def test_a_new_finding_fails_from_the_severity_on_that_was_chosen(report: MakeReport) -> None:
    base = known(report())
    medium = report(graph_breaks=[graph_break()])
    low = report(recompiles=[recompile("dtype", "x")])
    note = report(recompiles=[recompile("training_mode", "m.training")])
    assert gate(medium, base).exit_status == 1
    assert gate(medium, base, Budgets(fail_on="high")).exit_status == 0
    assert [o.level for o in gate(low, base).outcomes] == ["warn"]
    assert gate(note, base).outcomes == ()


def test_moved_lines_are_not_new(report: MakeReport) -> None:
    base = known(report(graph_breaks=[graph_break(line=5)]))
    assert gate(report(graph_breaks=[graph_break(line=99, compile_ids=["7/3"])]), base).outcomes == ()


def test_counts_are_exact_but_executions_only_warn(report: MakeReport) -> None:
    base = known(report(graph_breaks=[graph_break()]))
    more_events = report(graph_breaks=[graph_break(events=2)])
    more_steps = report(graph_breaks=[graph_break(runtime_hits=11)])
    assert gate(more_events, base).exit_status == 1
    assert [o.level for o in gate(more_steps, base).outcomes] == ["warn"]


def test_severity_that_only_seconds_raised_warns_and_one_that_a_limit_raised_fails(
    report: MakeReport,
) -> None:
    def ran(seconds: float, **fields: Any) -> Report:
        return report(recompiles=[recompile("dtype", "x", wasted_compile_s=seconds, **fields)])

    base = known(ran(1.0))
    slow = gate(ran(40.0), base)
    assert (slow.exit_status, [o.level for o in slow.outcomes]) == (0, ["warn"])
    refused = replace(ran(1.0, blocked_by_limit=1), limit_hits=[limit_hit()])
    assert gate(refused, base).exit_status == 1


def test_what_is_gone_is_told_and_passes(report: MakeReport) -> None:
    verdict = gate(report(), known(report(graph_breaks=[graph_break()])))
    assert (verdict.exit_status, [o.level for o in verdict.outcomes]) == (0, ["info"])


def timed(report: MakeReport, spent: float, torch: str = "2.13.0", **totals: Any) -> Report:
    rows = report(processes=[ProcessInfo("p", 1, None, None, torch, "3.11", "CPU")])
    return replace(rows, totals=replace(rows.totals, compile_wall_s=spent, **totals))


@pytest.mark.parametrize(
    ("before", "now", "status"), [(10.0, 19.0, 0), (10.0, 31.0, 1), (1.0, 9.0, 0), (100.0, 201.0, 1)]
)
def test_times_count_beyond_factor_and_floor(
    report: MakeReport, before: float, now: float, status: int
) -> None:
    assert gate(timed(report, now), known(timed(report, before))).exit_status == status


def test_another_torch_compares_counts_only_and_says_so(report: MakeReport) -> None:
    verdict = gate(timed(report, 999.0, torch="2.14.0"), known(timed(report, 1.0)))
    assert verdict.exit_status == 0
    assert "2.13.0 -> 2.14.0" in verdict.of("warn")[0].text


def test_a_run_that_compiled_nothing_or_crashed_does_not_pass(report: MakeReport) -> None:
    base = known(timed(report, 1.0, graphs=3))
    assert gate(timed(report, 1.0, graphs=0), base).exit_status == 1
    crashed = timed(report, 1.0, graphs=3)
    crashed = replace(
        crashed, recording=replace(crashed.recording, exit_status=137, ended="killed by SIGKILL")
    )
    assert gate(crashed, base).exit_status == 1
    assert gate(crashed, known(crashed)).exit_status == 0


def test_budgets_fail_and_warn_apart(report: MakeReport) -> None:
    rows = timed(report, 50.0, recompiles=5)
    limits = Budgets(fail={"recompiles": 6}, warn={"recompiles": 4, "compile-s": 60.0})
    assert [(o.level, o.text) for o in gate(rows, None, limits).outcomes[:1]] == [
        ("warn", "recompiles: 5 is more than 4")
    ]
    both = gate(rows, None, Budgets(fail={"recompiles": 4}, warn={"recompiles": 2}))
    assert [o.level for o in both.outcomes if "recompiles" in o.text] == ["fail"]


def test_an_unknown_fact_is_a_warning_not_a_pass(report: MakeReport) -> None:
    rows = timed(report, 1.0, eager_calls=None)
    assert "unknown" in gate(rows, None, Budgets(fail={"eager-calls": 0})).of("warn")[0].text


def test_a_baseline_survives_its_file(report: MakeReport, tmp_path: Path) -> None:
    base = known(report(graph_breaks=[graph_break()], recompiles=[recompile("dtype", "x")]))
    path = tmp_path / "b.json"
    path.write_text(baselines.to_json(base))
    assert baselines.read(path) == base
    assert baselines.read(tmp_path / "none.json") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"v": 2}', '{"v": 1}', "\0", '{"v": 1, "findings": 3}', "[" * 90000]
)
def test_a_file_that_is_no_baseline_is_an_error_that_says_what_to_do(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"b\.json") as caught:
        baselines.read(path)
    assert "--write-baseline" in (caught.value.hint or "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda c: st.lists(c, max_size=3)
    )
)
def test_any_value_in_place_of_findings_is_refused_not_crashed_on(value: Any) -> None:
    data = {"v": 1, "made_with": {}, "totals": {}, "compile_s": None, "exit_status": None, "findings": value}
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.json"
        path.write_text(json.dumps(data))
        with pytest.raises(UsageError):
            baselines.read(path)


def test_budgets_come_from_the_nearest_table_upwards(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.compilescope.check]\nbaseline = "ci/base.json"\ngraph-breaks = 0\nwarn = {recompiles = 3}\n'
    )
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    found = find_budgets(inner)
    assert (found.baseline, found.fail, found.warn) == (
        tmp_path / "ci" / "base.json",
        {"graph-breaks": 0.0},
        {"recompiles": 3.0},
    )


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        ({"graph_breaks": 1}, "unknown key 'graph_breaks'", "did you mean: graph-breaks"),
        ({"warn": {"recompile": 1}}, "unknown key 'recompile'", "did you mean: recompiles"),
        ({"zzz": 1}, "unknown key 'zzz'", "known keys: baseline"),
        ({"recompiles": "3"}, "must be a number", None),
        ({"recompiles": True}, "must be a number", None),
        ({"recompiles": -1}, "must be a number", None),
        ({"compile-s": float("nan")}, "must be a number", None),
        ({"fail-on": "bad"}, "must be one of critical", None),
        ({"warn": 3}, "must be a table", None),
        ({"baseline": 3}, "must be a file name", None),
    ],
)
def test_wrong_budgets_are_errors(
    table: dict[str, Any], message: str, hint: str | None, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_budgets(table, tmp_path / "pyproject.toml")
    assert hint is None or (caught.value.hint or "").startswith(hint)


def test_toml_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool\n")
    with pytest.raises(UsageError, match=r"cannot read .*pyproject\.toml"):
        find_budgets(tmp_path)
