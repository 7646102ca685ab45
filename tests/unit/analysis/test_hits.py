"""Run-time hits of a break: counted where something counts, null with a reason where nothing does."""

from __future__ import annotations

from typing import Any

import pytest
from model_values import FILE, compiled, conversion, graph, graph_break, index, place, process, refused

from compilescope.analysis.hits import HitCounter, Hits
from compilescope.model import Process

F, G, HELPER = place("f", 10), place("g", 30), place("helper", 50)
SOURCE = "\n" * 9 + "def f(x):\n    for i in range(3):\n        x = g(x)\n    return x\n"
SKIPPED = "Failed to handle graph break gracefully. Skipping the function and falling back to eager."


def _hits(of: Process) -> Hits:
    found = index(of)
    return HitCounter(found).count(found.breaks)


def _stack(*places: tuple[int, str]) -> list[tuple[str, int, str]]:
    return [(FILE, line, function) for line, function in places]


def test_the_graph_that_ends_at_the_line() -> None:
    own = compiled(0, F)
    assert (
        _hits(process(own, graphs=(graph(0, calls=7),), breaks=(graph_break(0, _stack((12, "f"))),))).count
        == 7
    )


def test_recompiles_of_the_function_add_up() -> None:
    event = graph_break(0, _stack((12, "f")))
    again = type(event)(compiled(0, F, 1).id, event.text, None, 1)
    of = process(
        compiled(0, F), compiled(0, F, 1), graphs=(graph(0, 0, 2), graph(0, 1, 4)), breaks=(event, again)
    )
    assert _hits(of).count == 6


def test_the_same_break_logged_twice_in_one_compile_counts_once() -> None:
    event = graph_break(0, _stack((12, "f")))
    assert _hits(process(compiled(0, F), graphs=(graph(0, calls=7),), breaks=(event, event))).count == 7


def test_calls_that_ran_eager_after_a_limit_run_the_line_too() -> None:
    own, over = compiled(0, F), refused(0, F, 1)
    events = (graph_break(0, _stack((12, "f"))),)
    facts: dict[str, Any] = {"graphs": (graph(0, calls=8),), "breaks": events, "eager_calls": {5: 4}}
    straight = "\n" * 9 + "def f(x):\n    x = x + 1\n    print(x)\n    return x\n"
    hits = _hits(process(own, over, conversions=(conversion(own, 5),), sources={FILE: straight}, **facts))
    assert hits.count == 12
    assert hits.basis == "calls of the graph that ends there, and 4 eager calls"


@pytest.mark.parametrize(
    "body",
    [
        "    if log:\n        print(x)\n",
        "    if log: return x\n    print(x)\n",
        "    for i in range(3):\n        print(x)\n",
        "    if not log:\n        x = x + 1\n    else:\n" + "        print(x)\n",
    ],
)
def test_eager_calls_that_need_not_have_reached_the_line_are_no_runs_of_it(body: str) -> None:
    own, over = compiled(0, F), refused(0, F, 1)
    source = "\n" * 9 + "def f(x, log):\n" + body + "    return x\n"
    line = 1 + source[: source.index("print")].count("\n")
    events = (graph_break(0, _stack((line, "f"))),)
    facts: dict[str, Any] = {"graphs": (graph(0, calls=8),), "breaks": events, "eager_calls": {5: 4}}
    hits = _hits(process(own, over, conversions=(conversion(own, 5),), sources={FILE: source}, **facts))
    assert hits.count == 8
    assert hits.basis == (
        "at least: calls of the graph that ends there; 4 eager calls may have reached the line or not"
    )


def test_eager_calls_are_not_counted_where_some_compiled_calls_did_not_break() -> None:
    own, whole, over = compiled(0, F), compiled(0, F, 1), refused(0, F, 2)
    straight = "\n" * 9 + "def f(x):\n    x = x + 1\n    note(x)\n    return x\n"
    facts: dict[str, Any] = {"breaks": (graph_break(0, _stack((12, "f"))),), "eager_calls": {5: 4}}
    facts |= {"graphs": (graph(0, calls=8), graph(0, 1, calls=2)), "sources": {FILE: straight}}
    hits = _hits(process(own, whole, over, conversions=(conversion(own, 5),), **facts))
    assert hits.count == 8
    assert "at least" in hits.basis


def test_eager_calls_count_only_where_each_call_on_the_way_is_always_made() -> None:
    own, over = compiled(0, F), refused(0, F, 1)
    source = "\n" * 9 + "def f(x):\n    if x: g(x)\n    return x\n" + "\n" * 17 + "def g(x):\n    print(x)\n"
    events = (graph_break(0, _stack((11, "f"), (31, "g"))),)
    facts: dict[str, Any] = {"graphs": (graph(0, calls=8),), "breaks": events, "eager_calls": {5: 4}}
    of = process(own, over, conversions=(conversion(own, 5),), sources={FILE: source}, **facts)
    assert _hits(of).count == 8
    always = source.replace("if x: ", "")
    of = process(own, over, conversions=(conversion(own, 5),), sources={FILE: always}, **facts)
    assert _hits(of).count == 12


def test_eager_calls_nobody_counted_make_the_hits_unknown() -> None:
    own, over = compiled(0, F), refused(0, F, 1)
    events = (graph_break(0, _stack((12, "f"))),)
    assert _hits(process(own, over, graphs=(graph(0, calls=8),), breaks=events)).count is None


def test_the_function_itself_goes_before_its_callers() -> None:
    stack = _stack((12, "f"), (52, "helper"))
    breaks = (graph_break(0, stack), graph_break(1, stack))
    of = process(
        compiled(0, F), compiled(1, HELPER), graphs=(graph(0, calls=3), graph(1, calls=9)), breaks=breaks
    )
    assert _hits(of).count == 9


def test_a_function_without_a_graph_takes_the_count_of_the_callers_it_split() -> None:
    stack = _stack((12, "f"), (52, "helper"))
    breaks = (graph_break(0, stack), graph_break(1, stack))
    assert (
        _hits(process(compiled(0, F), compiled(1, HELPER), graphs=(graph(0, calls=9),), breaks=breaks)).count
        == 9
    )


def test_methods_of_one_name_in_one_file_are_told_apart_by_the_source() -> None:
    method = "    def forward(self, x):\n        return self.b(x)\n"
    source = f"class A:\n{method}class B:\n{method}"
    stack = _stack((3, "forward"), (6, "forward"))
    a, b = place("forward", 2), place("forward", 5)
    breaks = (graph_break(0, stack), graph_break(1, stack))
    graphs = (graph(0, calls=3), graph(1, calls=12))
    of = process(compiled(0, a), compiled(1, b), graphs=graphs, breaks=breaks, sources={FILE: source})
    assert _hits(of).count == 12


def test_else_the_graph_the_rest_of_the_function_starts_with() -> None:
    rest = place("torch_dynamo_resume_in_f_at_12", 12)
    of = process(
        compiled(0, F),
        compiled(1, rest),
        graphs=(graph(1, calls=5),),
        breaks=(graph_break(0, _stack((12, "f"))),),
    )
    assert _hits(of).count == 5


def test_several_compiles_without_an_operation_share_the_count_of_what_follows() -> None:
    """``for n in lengths.tolist()`` as the first line: every compile of f is empty, the rest has graphs."""
    rest = place("torch_dynamo_resume_in_f_at_12", 12)
    event = graph_break(0, _stack((12, "f")))
    again = type(event)(compiled(0, F, 1).id, event.text, None, 1)
    compiles = (compiled(0, F), compiled(0, F, 1), compiled(1, rest), compiled(1, rest, 1))
    of = process(*compiles, graphs=(graph(1, 0, 5), graph(1, 1, 2)), breaks=(event, again))
    assert _hits(of).count == 7


def test_else_the_compiled_function_the_line_calls_unless_it_is_in_a_loop() -> None:
    own, callee = compiled(0, F), compiled(1, G, call=(place("f", 12),))
    facts: dict[str, Any] = {"graphs": (graph(1, calls=5),), "breaks": (graph_break(0, _stack((12, "f"))),)}
    straight = "\n" * 9 + "def f(x):\n    pass\n    return g(x)\n"
    assert _hits(process(own, callee, sources={FILE: straight}, **facts)).count == 5
    assert _hits(process(own, callee, sources={FILE: SOURCE}, **facts)).count is None


def test_a_second_break_on_the_line_a_function_resumed_at_is_the_same_execution() -> None:
    rest = place("torch_dynamo_resume_in_f_at_11", 11)
    breaks = (graph_break(0, _stack((11, "f"))), graph_break(1, _stack((11, "f"))))
    facts: dict[str, Any] = {"graphs": (graph(0, calls=4), graph(1, calls=4)), "breaks": breaks}
    one_line = "\n" * 9 + "def f(x):\n    print(x.item()); x.tolist()\n"
    assert _hits(process(compiled(0, F), compiled(1, rest), sources={FILE: one_line}, **facts)).count == 4
    in_loop = "\n" * 9 + "def f(x):\n    while x.sum() < 9: x = x + 1\n"
    assert _hits(process(compiled(0, F), compiled(1, rest), sources={FILE: in_loop}, **facts)).count == 8


def test_parts_without_an_operation_run_as_often_as_what_they_continue() -> None:
    """``return note(note(x + 1))``: the rest of f begins with the second call and has no graph."""
    rest = place("torch_dynamo_resume_in_f_at_12", 12)
    stack = _stack((12, "f"), (52, "helper"))
    breaks = (graph_break(0, stack), graph_break(1, stack), graph_break(2, stack))
    of = process(
        compiled(0, F), compiled(1, HELPER), compiled(2, rest), graphs=(graph(0, calls=4),), breaks=breaks
    )
    assert _hits(of).count == 8


def test_a_branch_resumes_in_either_of_two_functions_so_neither_takes_its_count() -> None:
    rest = place("torch_dynamo_resume_in_f_at_12", 12)
    branch = graph_break(0, _stack((12, "f")))
    after = graph_break(1, _stack((13, "f")), reason="Failed to trace builtin operator")
    of = process(compiled(0, F), compiled(1, rest), graphs=(graph(0, calls=4),), breaks=(branch, after))
    found = index(of)
    assert HitCounter(found).count([found.breaks[1]]).count is None


def test_a_function_that_calls_itself_is_not_guessed_at() -> None:
    source = "\n" * 9 + "def f(x, d):\n    print(d)\n    return f(x, d - 1)\n"
    event = graph_break(0, _stack((11, "f")))
    hits = _hits(
        process(compiled(0, F), graphs=(graph(0, calls=4),), breaks=(event,), sources={FILE: source})
    )
    assert hits.count is None
    assert "calls itself" in hits.basis


def test_a_skipped_function_has_no_count_and_says_why() -> None:
    hits = _hits(process(compiled(0, F), breaks=(graph_break(0, _stack((12, "f")), reason=SKIPPED),)))
    assert hits.count is None
    assert "skipped as a whole" in hits.basis


def test_a_raw_log_has_no_counts_and_says_why() -> None:
    of = process(
        compiled(0, F),
        kind="torch_trace",
        graphs=(graph(0, calls=None),),
        breaks=(graph_break(0, _stack((12, "f"))),),
    )
    assert _hits(of) == Hits(None, "a TORCH_TRACE log has no run-time counts")
