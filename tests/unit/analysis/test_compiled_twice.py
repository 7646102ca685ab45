"""Candidates that were compiled twice, put together by function."""

from __future__ import annotations

from dataclasses import replace

import pytest
from model_values import compiled, index, place, process

from compilescope.analysis.compiled_twice import compiled_twice
from compilescope.model import CompiledTwice, CompileId

ASSEMBLERS = ("13.0", "12.8")


def _event(frame: int | None, seconds: float, recompile: int = 0, candidates: int = 20) -> CompiledTwice:
    compile_id = None if frame is None else CompileId(0, frame, recompile)
    return CompiledTwice(compile_id, "addmm", candidates, seconds, ASSEMBLERS)


def test_operations_of_a_function_are_one_row_in_every_compile_of_it() -> None:
    made = process(compiled(0, place("f", 3)), compiled(0, place("f", 3), 1), compiled(1, place("g", 9)))
    events = (_event(0, 1.0), _event(0, 2.0, candidates=19), _event(1, 4.5), _event(0, 0.5, recompile=1))
    g, f = compiled_twice([index(replace(made, compiled_twice=events))])
    assert (g.function, g.line, g.operations, g.candidates, g.compile_s) == ("g", 9, 1, 20, 4.5)
    assert (f.function, f.line, f.operations, f.candidates, f.compile_s) == ("f", 3, 3, 59, 3.5)
    assert (f.workers, f.own) == ASSEMBLERS


@pytest.mark.parametrize("frame", [None, 7])
def test_without_a_compile_on_record_there_is_no_place(frame: int | None) -> None:
    made = process(compiled(0, place("f", 3)))
    events = (_event(frame, 1.0), _event(0, 2.0), _event(frame, 2.5))
    unknown, known = compiled_twice([index(replace(made, compiled_twice=events))])
    assert (unknown.function, unknown.file, unknown.line, unknown.compile_s) == (None, None, None, 3.5)
    assert known.function == "f"
