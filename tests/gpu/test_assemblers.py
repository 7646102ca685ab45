"""Candidates compiled twice, where workers and process have a ``ptxas`` each, and once."""

from __future__ import annotations

from compilescope.advice import Finding, advise

from .recorded import Recorded


def _found(recorded: Recorded) -> list[Finding]:
    return [f for f in advise(recorded.report) if f.rule == "candidates_compiled_twice"]


def _tuning(recorded: Recorded):
    (graph,) = [graph for graph in recorded.report.graphs if graph.autotune]
    (tuning,) = graph.autotune
    return tuning


def test_two_assemblers_are_found(two_assemblers: Recorded) -> None:
    """torch 2.11 for CUDA 13: its own ptxas is 13.0, Triton's 12.8."""
    tuning = _tuning(two_assemblers)
    assert tuning.compiled == sum(c.backend == "triton" for c in tuning.choices)
    assert tuning.compiled_s is not None
    assert tuning.tuning_s is not None
    assert 0.5 * tuning.tuning_s < tuning.compiled_s < tuning.tuning_s
    (row,) = two_assemblers.report.compiled_twice
    assert (row.workers, row.own) == ("13.0", "12.8")
    assert (row.operations, row.candidates, row.compile_s) == (1, tuning.compiled, tuning.compiled_s)
    (found,) = _found(two_assemblers)
    assert found.cost["compile_s"].value == tuning.compiled_s
    assert found.cost["candidates"].value == tuning.compiled
    assert "TRITON_PTXAS_PATH" in found.fix
    assert found.function == "layer"


def test_one_assembler_is_no_finding(one_assembler: Recorded, two_assemblers: Recorded) -> None:
    tuning = _tuning(one_assembler)
    assert one_assembler.report.compiled_twice == []
    assert tuning.compiled == _tuning(two_assemblers).compiled
    assert tuning.compiled_s is not None
    assert tuning.compiled_s < 0.2 * (_tuning(two_assemblers).compiled_s or 0.0)
    assert _found(one_assembler) == []
