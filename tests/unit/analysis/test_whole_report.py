"""Failures, diagnoses, the verdict, and what the report says of a run that did not end well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch_texts as texts
from model_values import compiled, graph, graph_break, index, place, process, refused, run

from compilescope.analysis.build import report_of
from compilescope.analysis.failures import failures
from compilescope.analysis.report import GraphBreak, Recompile, Report
from compilescope.analysis.worst import detail, steps, worst
from compilescope.model import (
    BreakEvent,
    CacheEvent,
    Compile,
    CompileId,
    CompileTarget,
    Conversion,
    Limit,
    Location,
    Process,
)

F = place("f", 10)
ENDED: dict[str, Any] = {"exit_status": 0, "started_ns": 10**18, "ended_ns": 10**18 + 2 * 10**9}


MADE: tuple[Any, ...] = ([], 2, 0, [], None, False, 0.5, ["0/1"], None, "pid1-ab")
BROKEN = GraphBreak(
    file="train.py",
    line=12,
    function="f",
    code="print(x)",
    causes=["print"],
    gb_types=["Failed to trace builtin operator"],
    gb_ids=["GB0059"],
    reason="print() was called",
    hint=None,
    events=1,
    runtime_hits=2,
    resume=["resumable"],
    call_path=[],
    compile_ids=["0/0"],
    process="pid1-ab",
)


def _report(*processes: Process, **launch: Any) -> Report:
    return report_of(run(*processes, **{**ENDED, **launch}))


def _slugs(report: Report) -> list[str]:
    return [d.slug for d in report.diagnoses]


def _failed(**more: Any) -> Any:
    facts = {
        "has_code": False,
        "fail_type": "Unsupported",
        "fail_reason": "Data-dependent branching\n  Explanation: Detected it.",
    }
    return compiled(0, F, **{**facts, **more})


def test_a_failure_stands_at_the_innermost_line_of_the_user() -> None:
    of = process(_failed(fail_type="TorchRuntimeError", error_text=texts.FULLGRAPH_ERROR))
    (row,) = failures(index(of))
    assert (row.exception, row.file, row.line, row.function) == ("TorchRuntimeError", "train.py", 13, "block")
    assert row.message == "Data-dependent branching: Detected it."
    assert not row.suppressed


def test_a_violated_constraint_stands_where_the_size_was_pinned() -> None:
    of = process(_failed(fail_type="ConstraintViolationError", fail_reason=texts.CONSTRAINT_ERROR))
    (row,) = failures(index(of))
    assert (row.line, row.phase) == (13, "guards")
    assert "specialized it to be a constant (4)" in row.message


def test_an_error_a_break_or_a_skip_explains_is_no_failure() -> None:
    skip = Conversion(F, 0, "skipped", None, None, 0.1, (), CompileId(0, 0, 0))
    assert failures(index(process(_failed(), conversions=(skip,)))) == []


def test_a_suppressed_error_is_a_failure_that_runs_eager() -> None:
    conversion = Conversion(
        F,
        0,
        "suppressed",
        "backend='b' raised:\nValueError: x",
        "BackendCompilerFailed",
        0.1,
        (),
        CompileId(0, 0, 0),
    )
    of = process(_failed(fail_type="BackendCompilerFailed", fail_reason=None), conversions=(conversion,))
    (row,) = failures(index(of))
    assert row.suppressed
    assert row.message == "backend='b' raised: ValueError: x"
    assert "runs WITHOUT torch.compile" in " ".join(_report(of).verdict.sentences)


def _target(target: str, name: str | None, **more: Any) -> CompileTarget:
    return CompileTarget(target, name, None, (place("main", 90),), more.get("disabled", False))


@pytest.mark.parametrize(
    ("facts", "slug"),
    [
        ({"compile_calls": 0}, "no_torch_compile"),
        ({"targets": (_target("builtins.function", "f"),)}, "compiled_function_not_called"),
        ({"targets": (_target("builtins.function", "f", disabled=True),)}, "compile_disabled"),
        ({"config": {"disable": True}, "env": ("TORCH_COMPILE_DISABLE",)}, "compile_disabled"),
        ({"stances": ("force_eager",)}, "stance"),
        (
            {"targets": (_target("torch.nn.modules.linear.Linear", "Module._call_impl"),)},
            "builtin_module_compile",
        ),
        (
            {"conversions": (Conversion(F, 0, "skipped", "no tensors", None, 0.1, (), None),)},
            "every_frame_skipped",
        ),
    ],
)
def test_nothing_compiled_is_a_diagnosis(facts: dict[str, Any], slug: str) -> None:
    report = _report(process(**facts))
    assert _slugs(report) == [slug]
    assert report.verdict.sentences == [report.diagnoses[0].text]
    assert report.verdict.settled is None


def test_builtin_modules_compile_from_2_14_on() -> None:
    facts: dict[str, Any] = {"targets": (_target("torch.nn.modules.linear.Linear", "Module._call_impl"),)}
    report = _report(process(versions={"torch": "2.14.1"}, **facts))
    assert _slugs(report) == ["compiled_function_not_called"]


def test_a_program_without_torch_has_a_diagnosis_too() -> None:
    assert _slugs(_report()) == ["torch_not_imported"]


def test_a_clean_run_says_so_and_a_cached_one_says_that() -> None:
    of = process(
        compiled(0, F),
        graphs=(graph(0, calls=7),),
        caches=(CacheEvent("fx_graph", "hit", CompileId(0, 0, 0)),),
    )
    report = _report(of)
    assert report.verdict.sentences == [
        "Compiling took 0.50 s of 2.00 s (25 %).",
        "No graph break and no recompile: 1 graph, 7 compiled calls.",
    ]
    assert _slugs(report) == ["served_from_cache"]
    assert report.worst == []


def test_a_program_killed_while_compiling_says_what_was_being_compiled() -> None:
    cut = compiled(0, F, has_code=None, end_ns=None)
    report = _report(replace(process(cut), complete=False), exit_status=137, signal="SIGKILL")
    assert report.recording.ended == "killed by SIGKILL"
    assert "It ended while f() (train.py:10) was being compiled." in report.verdict.sentences
    assert not report.recording.complete


def test_counts_that_are_not_known_are_null_and_said_to_be_missing() -> None:
    report = _report(process(compiled(0, F), kind="torch_trace", graphs=(graph(0, calls=None),)))
    assert report.totals.compiled_calls is None
    assert [m.fact for m in report.graphs[0].missing] == ["calls"]


def test_a_hook_this_torch_lacks_is_named() -> None:
    report = _report(process(hooks={"graphs": "missing: no call_user_compiler", "trace": "ok"}))
    assert [(m.fact, m.reason) for m in report.processes[0].missing] == [
        ("calls and sizes of compiled graphs", "missing: no call_user_compiler")
    ]


def test_eager_calls_that_belong_to_no_function_are_said_to_be_missing() -> None:
    (fact,) = _report(process(eager_calls={-1: 3})).processes[0].missing
    assert "3 eager calls" in fact.fact


def test_a_forked_child_shows_what_it_inherited_without_counting_it_again() -> None:
    own = compiled(0, F)
    convert = Conversion(F, 7, "compiled", None, None, 0.1, (), own.id)
    parent = process(own, pid=1, graphs=(graph(0, calls=8),), conversions=(convert,))
    inherited = replace(graph(0, calls=3), inherited=True)
    limit = Limit(7, F, 8, None, CompileId(0, 0, 1))
    child = process(id="pid2-cd", pid=2, ppid=1, graphs=(inherited,), limits=(limit,), eager_calls={7: 5})
    report = _report(parent, child)
    assert (report.totals.graphs, report.totals.compiled_calls) == (1, 11)
    assert [(g.function, g.calls) for g in report.graphs] == [("f", 8), ("f", 3)]
    assert [(hit.eager_calls, hit.total_calls) for hit in report.limit_hits] == [(5, 8)]


def test_totals_follow_the_counting_rules() -> None:
    own, again, over = compiled(0, F), compiled(0, F, 1, reasons=("0/0: n == 2",)), refused(0, F, 2)
    empty = compiled(1, place("g", 30))
    of = process(
        own, again, over, empty, graphs=(graph(0), graph(0, 1)), limits=(Limit(None, F, 8, None, over.id),)
    )
    t = _report(of).totals
    assert (t.frames, t.compiles, t.graphs, t.recompiles, t.blocked_by_limit, t.limit_hits) == (
        2,
        3,
        2,
        1,
        1,
        1,
    )


def _left_to_python(frame: int, code: Location, line: int) -> tuple[Compile, BreakEvent]:
    """A compile that a break, inside of a loop say, left without any code."""
    event = graph_break(frame, [("/home/user/train.py", line, code.function)])
    return compiled(frame, code, has_code=False), event


def test_functions_left_to_python_as_a_whole_are_in_no_count_of_calls() -> None:
    whole, at = _left_to_python(1, place("g", 30), 31)
    rest, after = _left_to_python(2, place("torch_dynamo_resume_in_g_at_31", 31), 32)
    other, there = _left_to_python(3, place("h", 50), 51)
    source = "\n" * 29 + "def g(x):\n    print(x)\n    return x\n"
    of = process(
        *(compiled(0, F), whole, rest, other),
        graphs=(graph(0, calls=7),),
        breaks=(at, after, there),
        sources={"/home/user/train.py": source},
    )
    report = _report(of)
    assert (report.totals.compiled_calls, report.totals.eager_calls) == (7, 0)
    assert report.totals.uncounted_functions == 2
    left = [frame for frame in report.frames if frame.status == "skipped"]
    assert [frame.eager_calls for frame in left] == [None, None, None]
    assert "nothing counts its calls" in left[0].missing[-1].reason
    assert [frame.eager_calls for frame in report.frames if frame.status != "skipped"] == [0]


def test_a_function_whose_error_torch_suppressed_is_in_no_count_either() -> None:
    id_ = CompileId(0, 0, 0)
    suppressed = Conversion(F, 0, "suppressed", "no kernel", "BackendCompilerFailed", 0.1, (), id_)
    of = process(_failed(fail_type="BackendCompilerFailed", fail_reason=None), conversions=(suppressed,))
    assert _report(of).totals.uncounted_functions == 1
    raised = process(_failed(fail_type="BackendCompilerFailed", fail_reason=None))
    assert _report(raised).totals.uncounted_functions == 0


def test_a_function_that_broke_and_has_a_graph_is_counted() -> None:
    event = graph_break(0, [("/home/user/train.py", 11, "f")])
    of = process(compiled(0, F), graphs=(graph(0, calls=7),), breaks=(event,))
    assert _report(of).totals.uncounted_functions == 0


def test_changes_are_shown_as_one_chain_where_they_are_one() -> None:
    assert steps([(0, 1), (1, 2), (2, 3), (3, 4)]) == "0 -> 1 -> ... -> 4"
    assert steps([(0.1, 0.098296)]) == "0.1 -> 0.098296"
    assert steps([(16, 4), (8, 2)]) == "16 -> 4, 8 -> 2"
    assert steps([(0, 1), (0, 2), (1, 3)]) == "0 -> 1 -> 2 -> 3"
    assert steps([(0, 1), (0, 1)]) == "0 -> 1 (2 times)"
    assert steps([]) == ""


def test_values_without_a_name_of_their_own_are_named() -> None:
    row = Recompile("f", "a.py", 1, "rank", "argument", None, "x", *MADE)
    assert detail(replace(row, changes=[(1, 2)])) == "x.ndim 1 -> 2"
    text = replace(row, kind="value", value_type="str", changes=[("eval", "train")])
    assert detail(text) == "x 'eval' -> 'train'"
    relation = replace(row, kind="symbolic_guard", changes=[("x < 5", 7), ("x < 5", 8)])
    assert detail(relation) == "x < 5 fails for 7, 2 times in all"


def test_hostile_names_do_not_stop_a_report() -> None:
    bad = place("<script>alert(1)</script>[red]\x1b[31m", 3, "/home/user/../../etc/\udcff.py")
    report = _report(process(compiled(0, bad), graphs=(graph(0),)))
    assert report.frames[0].function == bad.function


def test_a_break_on_every_rank_is_one_row_of_the_worst() -> None:
    rows = [replace(BROKEN, process=f"rank{n}-pid{n}-ab", events=1, runtime_hits=n + 1) for n in (0, 1)]
    (row,) = worst([], rows, [], [])
    assert row.note == "on ranks 0 and 1"
    assert row.cost is not None
    assert row.cost.startswith("ran 3 times")
    unsure = replace(rows[1], runtime_hits_basis="at least: calls")
    (row,) = worst([], [rows[0], unsure], [], [])
    assert (row.cost or "").startswith("ran at least 3 times")


def test_equal_breaks_of_one_process_stay_apart() -> None:
    assert len(worst([], [BROKEN, BROKEN], [], [])) == 2


def test_a_run_without_torch_is_not_incomplete() -> None:
    assert _report().recording.complete
