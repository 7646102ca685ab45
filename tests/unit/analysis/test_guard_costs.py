"""The share of a call that guard checking takes: one check as timed, a call by steps or by the counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compilescope.analysis import Report, build_report
from compilescope.analysis.report import GuardCost
from compilescope.recording import Writer, open_recording

SECOND = 10**9
START = 1_700_000_000 * SECOND


class Program:
    """Compiles end at whole seconds after the start; one check takes ``hot_us``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.writer = Writer(root, {"argv": ["train.py"]})
        self.serial = 0

    def compiled(self, frame: int, recompile: int, *, end_s: int, hot_us: float | None = 20.0) -> Program:
        c, m = (frame, recompile, 0, 0), {"g": self.serial, "ops": 1, "backend": "eager"}
        self.writer.record("dynamo_start", {"m": {"stack": []}}, c=c)
        self.writer.record("graph", {"m": m}, c=c)
        self.writer.record("guards", {"m": {"count": 5, "hot_check_us": hot_us}}, c=c, payload="[]")
        m = {"has_guarded_code": True, "co_name": f"f{frame}", "co_filename": "/u/t.py", "co_firstlineno": 3}
        m |= {"guard_latency_us": 90, "start_time_us": (START + (end_s - 1) * SECOND) // 1000}
        m |= {"end_time_us": (START + end_s * SECOND) // 1000, "duration_us": 10**6}
        self.writer.record("compilation_metrics", {"m": m}, c=c)
        self.serial += 1
        return self

    def runs(self, at_s: float, *rows: tuple[int, int], kind: str = "runs") -> Program:
        counts = [[serial, calls, None] if kind == "runs" else [serial, calls] for serial, calls in rows]
        self.writer.record(kind, {"t": START + round(at_s * SECOND), "g": counts, "e": []})
        return self

    def steps(self, end_s: float, lengths_us: list[int]) -> Program:
        end_ns = START + round(end_s * SECOND)
        self.writer.record("step", {"m": {"n": len(lengths_us), "us": lengths_us, "end_ns": end_ns}})
        return self

    def report(self) -> Report:
        self.writer.close()
        return build_report(open_recording(self.root))

    def costs(self) -> list[GuardCost]:
        return self.report().guard_costs


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "run.compilescope")


def reasons(cost: GuardCost) -> dict[str, str]:
    return {fact.fact: fact.reason for fact in cost.missing}


def test_a_call_is_estimated_from_the_busiest_time_between_two_readings(program: Program) -> None:
    (cost,) = (
        program.compiled(0, 0, end_s=1).runs(2, (0, 100)).runs(3, (0, 10_100)).runs(9, (0, 10_200)).costs()
    )
    assert cost.call_us == 100.0  # 10,000 calls in the second from 2 to 3
    assert cost.call_basis is not None
    assert cost.call_basis.startswith("estimated")
    assert cost.share == 0.2
    assert (cost.calls, cost.checks_s, cost.check_us, cost.cold_check_us) == (10_200, 0.204, 20.0, 90.0)
    assert cost.missing == []


def test_readings_with_few_calls_between_them_are_taken_together(program: Program) -> None:
    program.compiled(0, 0, end_s=1)
    for second in range(2, 7):
        program.runs(second, (0, 4 * (second - 1)))
    (cost,) = program.costs()
    assert cost.call_us == 250_000.0


def test_the_first_reading_may_be_the_only_one(program: Program) -> None:
    """The last compile made the graph: it had no call before it ended."""
    (cost,) = program.compiled(0, 0, end_s=1).runs(2, (0, 1000)).costs()
    assert cost.call_us == 1000.0


def test_calls_while_others_still_compile_do_not_count(program: Program) -> None:
    first, second = (
        program.compiled(0, 0, end_s=1)
        .runs(2, (0, 50_000))
        .compiled(1, 0, end_s=10)
        .runs(11, (1, 100))
        .costs()
    )
    assert (first.function, first.share) == ("f1", 0.002)
    assert (second.function, second.share) == ("f0", None)
    assert "fewer than 10 calls" in reasons(second)["call_us"]
    assert set(reasons(second)) == {"call_us", "call_basis", "share"}


def test_counts_read_at_a_compile_are_where_the_time_after_it_starts(program: Program) -> None:
    program.compiled(0, 0, end_s=1).runs(2, (0, 500)).runs(8, (0, 1000), kind="runs_at_compile")
    by_name = {c.function: c for c in program.compiled(1, 0, end_s=10).runs(11, (0, 1100)).costs()}
    assert by_name["f0"].call_us == 10_000.0


def test_steps_the_program_tells_of_are_a_measured_call(program: Program) -> None:
    program.compiled(0, 0, end_s=1).runs(2, (0, 20)).runs(3, (0, 40)).steps(3, [100_000] * 20)
    (cost,) = program.costs()
    assert cost.call_us == 50_000.0
    assert cost.call_basis == "measured: median of 20 steps, 2 calls each"


def test_calls_that_were_timed_are_measured(program: Program) -> None:
    program.compiled(0, 0, end_s=1).runs(2, (0, 100))
    rows = [[0, 400, None, {"4": [10, 80.0], "8": [30, 180.0]}]]
    program.writer.record("runs", {"t": START + 3 * SECOND, "g": rows, "e": []})
    (cost,) = program.costs()
    assert cost.call_us == 175.0  # (10 * 80 + 30 * 180) / 40 in the graph, and 20 for the check
    assert cost.call_basis == "measured: medians of 40 timed calls, and the check"


def test_entries_weigh_by_their_calls(program: Program) -> None:
    program.compiled(0, 0, end_s=1, hot_us=10.0).compiled(0, 1, end_s=2, hot_us=40.0)
    (cost,) = program.runs(3, (0, 300), (1, 100)).costs()
    assert (cost.entries, cost.check_us, cost.calls) == (2, 17.5, 400)


def test_dearest_first_and_unknown_last(program: Program) -> None:
    program.compiled(0, 0, end_s=1, hot_us=None).compiled(1, 0, end_s=1).compiled(2, 0, end_s=1, hot_us=80.0)
    costs = program.runs(2, (0, 1000), (1, 1000), (2, 1000)).costs()
    assert [cost.function for cost in costs] == ["f2", "f1", "f0"]
    assert "no check was timed" in reasons(costs[-1])["share"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda w: w.record("step", {"m": {"us": ["x"], "end_ns": 3}}),
        lambda w: w.record("step", {"m": {"us": 7, "end_ns": None}}),
        lambda w: w.record("runs_at_compile", {"g": [["a", None], [0, "n"]]}),
        lambda w: w.record("runs_at_compile", {"g": [7]}),
    ],
)
def test_hostile_records_leave_the_rest(program: Program, spoil: Callable[[Any], object]) -> None:
    spoil(program.compiled(0, 0, end_s=1).writer)
    (cost,) = program.runs(2, (0, 1000)).costs()
    assert cost.share == 0.02
