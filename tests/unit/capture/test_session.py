"""The one place where a failing hook is stopped."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest


def _raise(error: BaseException) -> None:
    raise error


def test_a_part_gets_its_arguments_and_gives_its_result(written: Any) -> None:
    assert written.session.safely(divmod, 7, 2) == (3, 1)
    assert written.session.safely(sorted, [1, 2], reverse=True) == [2, 1]


@pytest.mark.parametrize("error", [ValueError("v"), RecursionError(), MemoryError(), StopIteration()])
def test_a_failure_is_counted_and_goes_no_further(written: Any, error: Exception) -> None:
    assert written.session.safely(_raise, error) is None
    assert written.session.safely(_raise, error) is None
    lost = written.records("lost")
    assert sum(r.x["n"] for r in lost) == 2
    assert {r.x["why"] for r in lost} == {f"hook failed: _raise: {type(error).__name__}"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_what_is_meant_for_the_program_reaches_it(written: Any, error: BaseException) -> None:
    with pytest.raises(type(error)):
        written.session.safely(_raise, error)


def test_a_failure_that_cannot_even_be_counted_is_swallowed(written: Any) -> None:
    def no_count(*_: Any) -> None:
        raise OSError("no space left")

    written.session.writer.lost = no_count
    assert written.session.safely(_raise, ValueError()) is None


def test_frame_evaluation_is_off_in_a_part_and_back_on_after_it(written: Any) -> None:
    from torch._dynamo.eval_frame import set_eval_frame

    written.session.dynamo_loaded()

    def callback(*_: Any) -> None: ...

    def look() -> Any:
        inside = set_eval_frame(None)
        set_eval_frame(inside)
        return inside

    for part in (look, lambda: look() or 1 / 0):
        before = set_eval_frame(callback)
        try:
            assert written.session.safely(part) is None
        finally:
            assert set_eval_frame(before) is callback


def _code(name: str = "f") -> Any:
    return compile(f"def {name}(): pass", "<test>", "exec").co_consts[0]


def test_equal_code_objects_have_serials_of_their_own(written: Any) -> None:
    first, second = _code(), _code()
    assert first == second
    serials = [written.session.code_serial(c) for c in (first, second, first)]
    assert serials[0] == serials[2] != serials[1]


def test_a_serial_is_never_given_twice_and_keeps_no_code_alive(written: Any) -> None:
    serials, gone = set(), []
    for _ in range(200):
        code = _code()
        serials.add(written.session.code_serial(code))
        gone.append(weakref.ref(code))
        del code
    gc.collect()
    assert len(serials) == 200
    assert all(reference() is None for reference in gone)
