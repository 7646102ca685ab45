"""Recompiles by cause: what is one cause, what a by-product, what is harmless, and which line to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from model_values import FILE, compiled, conversion, graph, graph_break, index, place, process, refused

from compilescope.analysis.attempts import Attempts
from compilescope.analysis.causes_of_frames import BreakOrigins
from compilescope.analysis.limits import limit_hits
from compilescope.analysis.recompiles import recompiles
from compilescope.analysis.report import LimitHit, Recompile
from compilescope.analysis.worst import detail
from compilescope.model import Compile, Guard, GuardFailure, Location, Process

F = place("f", 10)


HELD = "Unexpected recompilation: runtime guards failed even though they passed during analysis."
SIZE = "tensor 'x' size mismatch at index 0. expected 5, actual 4"


@pytest.mark.parametrize(
    "reasons", [(f"0/1: {HELD}", f"0/0: {SIZE}"), (f"0/1: {SIZE}", f"0/0: {HELD}"), (f"0/0: {HELD}",)]
)
def test_where_an_entry_fits_nothing_changed(reasons: tuple[str, ...]) -> None:
    """Torch says so of any entry: what differs from another one made nobody compile."""
    (row,) = _rows(process(compiled(0, F), compiled(0, F, 2, reasons=reasons), graphs=(graph(0),)))
    assert (row.kind, row.changes, row.named_by_torch) == ("none_failed", [(None, None)], 1)
    assert detail(row) == "every guard held when torch looked for the reason, once"


def test_where_a_check_afterwards_finds_what_differs_that_is_the_reason() -> None:
    again = compiled(0, F, 1, reasons=(f"0/0: {HELD}",))
    guard = Guard("EQUALS_MATCH", "L['n']", ("L['n'] == 1",), {"t": "int", "v": 2})
    failure = GuardFailure(again.id, "0/0", True, again.reasons[0], (guard,), {}, {}, {}, 1)
    (row,) = _rows(process(compiled(0, F), again, guard_failures=(failure,)))
    assert (row.kind, row.source, row.changes) == ("value", "n", [(1, 2)])


def _rows(of: Process) -> list[Recompile]:
    found = index(of)
    return recompiles(found, Attempts(found), BreakOrigins(found))


def _limits(of: Process) -> list[LimitHit]:
    found = index(of)
    return limit_hits(found, Attempts(found))[0]


def _length(source: str, old: int, line: int) -> Guard:
    code = f"len(L['{source}']) == {old}" if old else f"not L['{source}']"
    return Guard(
        "LENGTH_CHECK", f"L['{source}']", (code,), {"t": "list", "len": old + 1}, at=(place("f", line),)
    )


def _size(source: str, old: int, new: int) -> Guard:
    named = f"device=None, requires_grad=False, size=[{old}], stride=[1]"
    code = f"check_tensor(L['{source}'], Tensor, DispatchKeySet(CPU), torch.float32, {named})"
    layout = {"type": "Tensor", "dtype": "float32", "requires_grad": False, "size": [new], "stride": [1]}
    return Guard(
        "TENSOR_MATCH", f"L['{source}']", (code,), {"t": "tensor", "v": layout}, at=(place("f", 12),)
    )


def _failure(of: Compile, first: str, *guards: Guard) -> GuardFailure:
    return GuardFailure(of.id, "0/0", True, f"0/{of.id.recompile - 1}: {first}", guards, {}, {}, {}, 1)


def test_every_failing_guard_is_a_cause_and_torchs_choice_is_noted() -> None:
    first, second = compiled(0, F, 1), compiled(0, F, 2)
    failures = (
        _failure(first, "not h", _length("h", 0, 12)),
        _failure(second, "len(s) == 0", _length("h", 1, 12), _length("s", 0, 14)),
    )
    rows = _rows(process(compiled(0, F), first, second, guard_failures=failures))
    assert [(r.source, r.changes, r.count, r.named_by_torch, r.line) for r in rows] == [
        ("len(h)", [(0, 1), (1, 2)], 2, 1, 12),
        ("len(s)", [(0, 1)], 1, 1, 14),
    ]
    assert [c.source for c in rows[1].also_failed] == ["len(h)"]


def test_the_refused_attempt_is_no_recompile_but_shows_its_change() -> None:
    made, over = compiled(0, F, 1), refused(0, F, 2)
    failures = (
        _failure(made, "not h", _length("h", 0, 12)),
        _failure(over, "len(h) == 1", _length("h", 1, 12)),
    )
    of = process(compiled(0, F), made, over, guard_failures=failures)
    (row,) = _rows(of)
    assert (row.count, row.blocked_by_limit, row.changes, row.blocked_changes) == (1, 1, [(0, 1)], [(1, 2)])
    assert row.wasted_compile_s == 0.5


def test_sizes_that_move_together_are_one_cause() -> None:
    again = compiled(0, F, 1)
    failure = _failure(
        again, "tensor 'y' size mismatch at index 0. expected 8, actual 4", _size("x", 8, 4), _size("y", 8, 4)
    )
    (row,) = _rows(process(compiled(0, F), again, guard_failures=(failure,)))
    assert row.source == "y dim 0"
    assert [c.source for c in row.also_failed] == ["x dim 0"]


def test_sizes_that_move_apart_are_two_causes() -> None:
    again = compiled(0, F, 1)
    failure = _failure(
        again, "tensor 'x' size mismatch at index 0. expected 8, actual 4", _size("x", 8, 4), _size("y", 3, 4)
    )
    assert len(_rows(process(compiled(0, F), again, guard_failures=(failure,)))) == 2


def test_one_line_run_for_several_objects_is_one_cause() -> None:
    again = compiled(0, F, 1)
    line = (place("forward", 7),)
    guards = [
        Guard("EQUALS_MATCH", f"L['s'].b{n}.seen", (f"L['s'].b{n}.seen == 0",), {"t": "int", "v": 1}, at=line)
        for n in range(2)
    ]
    (row,) = _rows(
        process(compiled(0, F), again, guard_failures=(_failure(again, "s.b0.seen == 0", *guards),))
    )
    assert (row.source, row.line) == ("s.b0.seen", 7)
    assert [c.source for c in row.also_failed] == ["s.b1.seen"]


def test_a_tensors_layout_is_shown_at_the_function_a_value_where_it_is_used() -> None:
    again = compiled(0, F, 1)
    failure = _failure(again, "tensor 'x' size mismatch at index 0. expected 8, actual 16", _size("x", 8, 16))
    (row,) = _rows(process(compiled(0, F), again, guard_failures=(failure,)))
    assert (row.line, row.function, row.called_from) == (10, "f", "train.py:90 main")


def test_torchs_own_frames_stand_for_the_line_that_called_them_then() -> None:
    inner = Location("/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", 67, "inner")
    again = compiled(0, inner, 1, call=(place("main", 95),))
    failure = _failure(
        again, "tensor 'args[0]' size mismatch at index 0. expected 16, actual 2", _size("args", 16, 2)
    )
    (row,) = _rows(process(compiled(0, inner), again, guard_failures=(failure,)))
    assert (row.file, row.line, row.function) == ("train.py", 95, "main")


def test_one_smaller_last_batch_is_benign_two_are_not() -> None:
    again, more = compiled(0, F, 1), compiled(0, F, 2)
    message = "tensor 'x' size mismatch at index 0. expected 8, actual 4"
    once = process(compiled(0, F), again, guard_failures=(_failure(again, message, _size("x", 8, 4)),))
    assert [r.benign for r in _rows(once)] == [True]
    failures = (_failure(again, message, _size("x", 8, 4)), _failure(more, message, _size("x", 4, 2)))
    assert [r.benign for r in _rows(process(compiled(0, F), again, more, guard_failures=failures))] == [False]


def test_a_recompile_of_the_rest_of_a_function_is_the_work_of_its_break() -> None:
    rest = place("torch_dynamo_resume_in_f_at_14", 14)
    again = compiled(1, rest, 1)
    guard = Guard(
        "EQUALS_MATCH",
        "L['___stack0']",
        ("L['___stack0'] == 2.0",),
        {"t": "float", "v": 3.0},
        at=(place("f", 15),),
    )
    event = graph_break(0, [(FILE, 14, "f")])
    of = process(
        compiled(0, F),
        compiled(1, rest),
        again,
        breaks=(event,),
        guard_failures=(_failure(again, "___stack0 == 2.0", guard),),
    )
    (row,) = _rows(of)
    assert (row.function, row.holder, row.caused_by) == ("f", "resume_value", "train.py:14")
    assert row.source == "___stack0 (result of line 14)"


def test_a_function_that_ran_inside_a_broken_one_is_the_work_of_that_break() -> None:
    helper = place("helper", 50)
    again = compiled(1, helper, 1, stack=(F, helper))
    event = graph_break(0, [(FILE, 14, "f")])
    guard = Guard("EQUALS_MATCH", "L['n']", ("L['n'] == 2",), {"t": "int", "v": 3})
    of = process(
        compiled(0, F),
        compiled(1, helper, stack=(F, helper)),
        again,
        breaks=(event,),
        guard_failures=(_failure(again, "n == 2", guard),),
    )
    assert [row.caused_by for row in _rows(of)] == ["train.py:14"]


def test_the_break_of_another_function_of_the_same_name_is_not_its_cause() -> None:
    method = "    def forward(self, x):\n        return x\n"
    source = f"class A:\n{method}class B:\n{method}"
    a, b, helper = place("forward", 2), place("forward", 5), place("helper", 50)
    again = compiled(2, helper, 1, stack=(place("forward", 3), helper))
    event = graph_break(1, [(FILE, 6, "forward")])
    guard = Guard("EQUALS_MATCH", "L['n']", ("L['n'] == 2",), {"t": "int", "v": 3})
    compiles = (compiled(0, a), compiled(1, b), compiled(2, helper), again)
    failures = (_failure(again, "n == 2", guard),)
    (row,) = _rows(process(*compiles, breaks=(event,), guard_failures=failures, sources={FILE: source}))
    assert row.caused_by is None


def test_a_variable_that_is_no_parameter_is_a_free_one() -> None:
    again = compiled(0, F, 1)
    guard = Guard("EQUALS_MATCH", "L['k']", ("L['k'] == 2",), {"t": "int", "v": 3})
    facts: dict[str, Any] = {"guard_failures": (_failure(again, "k == 2", guard),)}
    free = "\n" * 9 + "def f(x):\n    return x * k\n"
    bound = "\n" * 9 + "def f(x, *, k=2):\n    return x * k\n"
    for source, holder in ((free, "closure"), (bound, "argument")):
        (row,) = _rows(process(compiled(0, F), again, sources={FILE: source}, **facts))
        assert row.holder == holder


def test_parameters_python_knew_go_before_the_stored_source() -> None:
    again = compiled(0, F, 1)
    guard = Guard("EQUALS_MATCH", "L['k']", ("L['k'] == 2",), {"t": "int", "v": 3})
    convert = replace(conversion(again, 5), arguments=frozenset({"x"}))
    facts: dict[str, Any] = {"guard_failures": (_failure(again, "k == 2", guard),), "conversions": (convert,)}
    (row,) = _rows(process(compiled(0, F), again, sources={FILE: "\n" * 9 + "def f(x, k): pass\n"}, **facts))
    assert row.holder == "closure"


def test_a_raw_log_takes_new_values_from_the_next_message() -> None:
    reasons = [(), ("0/0: s == 'a'",), ("0/1: s == 'b'", "0/0: s == 'a'"), ("0/2: s == 'c'",)]
    compiles = [compiled(0, F, n, reasons=r) for n, r in enumerate(reasons)]
    (row,) = _rows(process(*compiles, kind="torch_trace"))
    assert row.changes == [("a", "b"), ("b", "c"), ("c", None)]
    assert (row.value_type, row.named_by_torch) == ("str", 3)


def test_a_limit_hit_counts_eager_and_total_calls_and_names_torchs_choice() -> None:
    own, over = compiled(0, F), refused(0, F, 1)
    failures = (_failure(over, "len(s) == 0", _length("h", 0, 12), _length("s", 0, 14)),)
    facts: dict[str, Any] = {
        "graphs": (graph(0, calls=8),),
        "eager_calls": {5: 4},
        "guard_failures": failures,
    }
    (hit,) = _limits(process(own, over, conversions=(conversion(own, 5),), **facts))
    assert (hit.eager_calls, hit.total_calls, hit.limit) == (4, 12, 8)
    assert hit.last_cause is not None
    assert hit.last_cause.source == "len(s)"


def test_a_limit_nobody_counted_after_is_null() -> None:
    (hit,) = _limits(process(compiled(0, F), refused(0, F, 1), graphs=(graph(0, calls=None),)))
    assert (hit.eager_calls, hit.total_calls) == (None, None)


def test_under_fullgraph_a_refused_call_raises_and_is_not_eager() -> None:
    over = refused(0, F, 1, fail_type="FailOnRecompileLimitHit")
    (hit,) = _limits(process(compiled(0, F), over, graphs=(graph(0, calls=2),)))
    assert (hit.eager_calls, hit.total_calls) == (0, 2)
