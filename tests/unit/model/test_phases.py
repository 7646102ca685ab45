"""Exclusive seconds of phases: they add up to the outermost ones, whatever is nested in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_records import Recorder

from compilescope.model._phases import Phases, compile_id_of
from compilescope.model.values import CompileId

MAIN, POOL = 11, 22
OF_FIRST = {"compile_id": "0/0"}


def sums(phases: Phases) -> dict[str, float]:
    found, _ = phases.finish()
    return {row.name: row.exclusive_s for row in found}


def test_a_phase_counts_without_the_phases_inside_it() -> None:
    phases = Phases()
    rows = [
        ["inductor", 200, 500, 2],
        ["aot", 100, 700, 1],
        ["build_guards", 810, 90, 1],
        ["dynamo", 0, 1000, 0, OF_FIRST],
    ]
    phases.add(MAIN, 0, rows, epoch=0)
    assert sums(phases) == {"inductor": 500e-6, "aot": 200e-6, "build_guards": 90e-6, "dynamo": 210e-6}


def test_an_inner_phase_takes_the_compile_of_the_one_around_it() -> None:
    phases = Phases()
    phases.add(MAIN, 0, [["gc", 1, 2, 1]], epoch=3)
    phases.add(MAIN, 0, [["dynamo", 0, 9, 0, {"compile_id": "!2/4/1"}]], epoch=3)
    found, _ = phases.finish()
    assert {row.compile for row in found} == {CompileId(3, 4, 1, 2)}


def test_backward_is_what_lies_in_a_backward_compile() -> None:
    phases = Phases()
    inner = [["codegen", 2, 5, 1], ["entire_backward_compile", 0, 9, 0, OF_FIRST]]
    phases.add(MAIN, 0, [*inner, ["dynamo", 10, 7, 0, OF_FIRST]], epoch=0)
    found, _ = phases.finish()
    assert {row.name: row.backward for row in found} == {
        "codegen": True,
        "entire_backward_compile": True,
        "dynamo": False,
    }


def test_threads_without_a_compile_of_their_own_work_in_parallel() -> None:
    phases = Phases()
    phases.add(POOL, 0, [["compile_file", 0, 400, 0, {"compile_id": "None"}]], epoch=0)
    phases.add(MAIN, 0, [["dynamo", 0, 500, 0, OF_FIRST]], epoch=0)
    found, roots_s = phases.finish()
    assert {row.name: row.parallel for row in found} == {"compile_file": True, "dynamo": False}
    assert roots_s == 500e-6


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=4)


def rows_of(tree: list[Any], depth: int, start: int) -> Iterator[list[Any]]:
    """Rows in closing order; a phase lasts one microsecond more than what is in it."""
    end = start
    for child in tree:
        yield from rows_of(child, depth + 1, end)
        end += size(child)
    yield [f"depth {depth}", start, end - start + 1, depth, *([OF_FIRST] if depth == 0 else [])]


def size(tree: list[Any]) -> int:
    return 1 + sum(size(child) for child in tree)


@given(st.lists(st.recursive(st.just([]), nested, max_leaves=30), min_size=1, max_size=4))
def test_exclusive_times_add_up_to_the_outermost_phases(trees: list[Any]) -> None:
    phases = Phases()
    for tree in trees:
        phases.add(MAIN, 0, list(rows_of(tree, 0, 0)), epoch=0)
    found, roots_s = phases.finish()
    assert sum(row.exclusive_s for row in found) == pytest.approx(roots_s) == sum(map(size, trees)) * 1e-6


@pytest.mark.parametrize("text", ["None", "", "1", "1/2/3/4", "a/b", "1/-2"])
def test_what_is_not_a_compile_id(text: str) -> None:
    assert compile_id_of(text, 0) is None


def test_what_was_open_when_a_process_was_killed(recorder: Recorder) -> None:
    recorder.add("thread", {"ident": 7, "name": "worker"})
    recorder.add("open", th=7, stack=[["dynamo", 1_000], ["aot", 2_000]])
    recorder.add("phases", th=8, t0=0, rows=[["dynamo", 0, 9_000, 0, OF_FIRST]])
    recorder.add("open", th=8, stack=[["dynamo", 0]])
    (left,) = recorder.process(killed=True).detail.open
    assert left.thread == "worker"
    assert left.stack == (("dynamo", 1_000), ("aot", 2_000))
