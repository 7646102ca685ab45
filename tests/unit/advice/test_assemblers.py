"""Candidates of autotuning that are compiled twice: one finding a program, by its slowest process."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from compilescope.advice import Finding, advise
from compilescope.analysis.report import CompiledTwice, Report

MakeReport = Callable[..., Report]


def twice(compile_s: float, process: str = "p0", function: str | None = "f") -> CompiledTwice:
    place = (function, "train.py", 3) if function else (None, None, None)
    return CompiledTwice(*place, process, 2, 40, compile_s, "13.0", "12.8")


def found(report: Report) -> list[Finding]:
    return [f for f in advise(report) if f.rule == "candidates_compiled_twice"]


def test_what_loading_them_takes_is_no_finding(report: MakeReport) -> None:
    assert found(report(compiled_twice=[twice(0.4), twice(0.5)])) == []
    assert found(report(compiled_twice=[twice(1.5), twice(1.9)])) == []


@pytest.mark.parametrize(
    ("spent", "severity"), [(2.0, "low"), (29.0, "low"), (31.0, "medium"), (130.0, "high")]
)
def test_it_weighs_what_it_took(report: MakeReport, spent: float, severity: str) -> None:
    (one,) = found(report(compiled_twice=[twice(spent)]))
    assert (one.severity, one.file, one.line) == (severity, "train.py", 3)
    assert one.cost["compile_s"].value == one.saving.seconds == spent
    assert "torch's ptxas (CUDA 13.0), the process Triton's (12.8)" in one.summary


def test_ranks_run_side_by_side(report: MakeReport) -> None:
    rows = [twice(9.0, "p1", "g"), twice(4.0, "p0"), twice(3.0, "p1"), twice(0.2, "p1")]
    (one,) = found(report(compiled_twice=rows))
    assert (one.function, one.cost["compile_s"].value, one.cost["candidates"].value) == ("g", 12.0, 80)
    assert one.evidence.notes[-1] == "the same in 2 processes; the seconds are of the slowest"


def test_a_function_that_is_not_known_is_not_made_up(report: MakeReport) -> None:
    (one,) = found(report(compiled_twice=[twice(5.0, function=None)]))
    assert (one.file, one.line, one.function) == (None, None, None)
    assert one.summary.startswith("40 candidates of autotuning compiled twice")


def test_the_fix_is_a_sentence_and_a_command_that_a_shell_reads_as_one(report: MakeReport) -> None:
    (one,) = found(report(compiled_twice=[twice(9.0)]))
    assert "TRITON_PTXAS_PATH" in one.fix
    assert one.command not in (None, *one.fix.splitlines())
    name, value = shlex.split(one.command)
    assert (name, value.partition("=")[0]) == ("export", "TRITON_PTXAS_PATH")
