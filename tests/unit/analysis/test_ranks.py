"""One root cause on several ranks is one finding, and the counts of each rank are kept."""

from __future__ import annotations

from dataclasses import replace

from model_values import compiled, graph, place, process, refused, run

from compilescope.analysis.build import report_of
from compilescope.analysis.ranks import merged_limits, spread
from compilescope.analysis.report import Report
from compilescope.analysis.worst import worst
from compilescope.model import CompileId, Conversion, Process

F = place("f", 10)
REASONS = ("0/0: L['k'] == 0  # return x + k  # train.py:12 in f",)


def _rank(rank: int, eager: int) -> Process:
    again = refused(0, F, 1, reasons=REASONS)
    limit = Conversion(F, 7, "limit", None, None, 0.1, (), CompileId(0, 0, 1))
    return process(
        compiled(0, F),
        again,
        id=f"rank{rank}-pid{rank}-ab",
        pid=rank,
        rank=rank,
        world_size=4,
        graphs=(graph(0, calls=3),),
        conversions=(limit,),
        eager_calls={7: eager},
    )


def _report(*eager: int) -> Report:
    return report_of(run(*(_rank(rank, calls) for rank, calls in enumerate(eager))))


def test_a_limit_hit_on_four_ranks_is_one_finding() -> None:
    report = _report(5, 6, 5, 7)
    (row,) = [row for row in report.worst if row.kind == "limit_hit"]
    assert row.title == "f() recompiles because a Python int argument changes"
    assert row.cost is not None
    assert "23 eager calls" in row.cost
    assert row.note == "on ranks 0, 1, 2 and 3: 5, 6, 5 and 7 eager calls"
    assert report.totals.limit_hits == 1
    assert report.totals.eager_calls == 23


def test_the_rows_keep_each_rank_apart() -> None:
    report = _report(5, 6)
    found = {row.process: row.eager_calls for row in report.limit_hits}
    assert found == {"rank0-pid0-ab": 5, "rank1-pid1-ab": 6}
    assert [p.rank for p in report.processes] == [0, 1]


def test_the_verdict_names_the_function_once() -> None:
    assert any(s.startswith("f() hit the recompile limit") for s in _report(5, 5).verdict.sentences)


def test_equal_counts_are_not_listed() -> None:
    (row,) = [row for row in _report(5, 5).worst if row.kind == "limit_hit"]
    assert row.note == "on ranks 0 and 1"
    assert spread([1, None]) is None


def test_what_one_rank_does_not_know_is_unknown_in_all() -> None:
    first, second = _report(5, 6).limit_hits
    (row,) = merged_limits([first, replace(second, eager_calls=None)])
    assert row.eager_calls is None
    assert worst([first, replace(second, eager_calls=None)], [], [], [])[0].note == "on ranks 0 and 1"


def test_functions_of_the_same_name_stay_apart() -> None:
    first, second = _report(5, 6).limit_hits
    assert len(merged_limits([first, replace(second, line=99)])) == 2
