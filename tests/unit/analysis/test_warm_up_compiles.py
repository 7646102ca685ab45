"""Compiles within a bucketed model's warm-up are its own; those before, after and of other threads not."""

from __future__ import annotations

from dataclasses import replace

import model_values as v
import pytest

from compilescope.analysis.build import report_of
from compilescope.model import Compile, WarmUp

HERE = v.place("forward", 4)
SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 16"


def again(recompile: int, start_ns: int) -> Compile:
    return v.compiled(0, HERE, recompile, start_ns=start_ns, reasons=(SIZE,))


@pytest.mark.parametrize(
    ("start_ns", "thread", "is_own"),
    [
        (100, "MainThread", True),
        (199, "MainThread", True),
        (99, "MainThread", False),
        (201, "MainThread", False),
        (150, "server", False),
    ],
)
def test_when_and_on_which_thread_tell(start_ns: int, thread: str, is_own: bool) -> None:
    process = v.process(warm_ups=(WarmUp("bucketed-1", 100, 200, "MainThread"),))
    compiled = v.compiled(0, HERE, start_ns=start_ns, thread=thread)
    assert v.index(process).in_warm_up(compiled) is is_own


def test_one_that_the_process_did_not_outlive_has_no_end_and_perhaps_no_name() -> None:
    index = v.index(v.process(warm_ups=(WarmUp("bucketed-1", 100, None, None),)))
    assert index.in_warm_up(v.compiled(0, HERE, start_ns=10**9))
    assert not index.in_warm_up(v.compiled(0, HERE, start_ns=None))


def test_one_cause_has_a_row_of_the_warm_up_and_one_of_the_program() -> None:
    compiles = (v.compiled(0, HERE, start_ns=50), again(1, 150), again(2, 160), again(3, 300))
    process = v.process(*compiles, warm_ups=(WarmUp("b", 100, 200, "MainThread"),))
    report = report_of(v.run(process))
    assert {(row.warm_up, row.count) for row in report.recompiles} == {(True, 2), (False, 1)}
    assert (report.totals.recompiles, report.totals.warm_up_recompiles) == (1, 2)
    assert any("1 recompile" in sentence for sentence in report.verdict.sentences)
    assert sum("recompile" in row.title for row in report.worst) == 1
    without = report_of(v.run(replace(process, warm_ups=())))
    assert [(row.warm_up, row.count) for row in without.recompiles] == [(False, 3)]
