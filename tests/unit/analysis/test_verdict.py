"""The sentences at the top: they name the right thing, agree with the counts, and promise nothing unknown."""

from __future__ import annotations

from typing import Any

from model_values import compiled, conversion, graph, graph_break, place, process, refused, run

from compilescope.analysis.build import report_of
from compilescope.analysis.paths import called
from compilescope.analysis.report import GraphBreak, Report, Skip
from compilescope.analysis.verdict import verdict
from compilescope.model import Compile, Guard, GuardFailure, Location, Process

F = place("f", 10)
CONTAINER = "/venv/lib/python3.11/site-packages/torch/nn/modules/container.py"


def _said(of: Process) -> str:
    return " ".join(_report(of).verdict.sentences)


def _report(of: Process) -> Report:
    return report_of(run(of, script="train.py", cwd="/home/user"))


def _changed(of: Compile, source: str, old: int, new: int) -> GuardFailure:
    code = f"L['{source}'] == {old}"
    guard = Guard("EQUALS_MATCH", f"L['{source}']", (code,), {"t": "int", "v": new})
    newest = f"0/{of.id.recompile - 1}"
    return GuardFailure(of.id, newest, True, f"{newest}: {code}", (guard,), {}, {}, {}, 1)


def _recompiled(*changes: tuple[str, int, int]) -> Process:
    compiles = [compiled(0, F, number) for number in range(len(changes) + 1)]
    failures = tuple(_changed(c, *change) for c, change in zip(compiles[1:], changes, strict=True))
    return process(*compiles, graphs=(graph(0),), guard_failures=failures)


def test_one_recompile_is_not_most_of_anything() -> None:
    assert "1 recompile, because i changed in f()." in _said(_recompiled(("i", 1, 2)))


def test_a_cause_is_named_with_its_share() -> None:
    of = _recompiled(("i", 1, 2), ("n", 0, 1), ("i", 2, 3))
    assert "3 recompiles, 2 of them because i changed in f()." in _said(of)


def test_several_causes_of_one_recompile_each_have_no_first() -> None:
    assert "2 recompiles, each for another reason." in _said(_recompiled(("i", 1, 2), ("n", 0, 1)))


def test_a_function_of_torchs_own_stands_at_the_line_that_calls_it() -> None:
    """``torch.compile(nn.Sequential(...))``, called at module level, which itself is not compiled."""
    forward = Location(CONTAINER, 250, "forward")
    call = (place("<module>", 11),)
    made, over = compiled(0, forward, call=call), refused(0, forward, 1, call=call)
    assert "What train.py:11 calls hit the recompile limit" in _said(process(made, over, graphs=(graph(0),)))


def _reasoned(*reasons: str) -> str:
    compiles = [compiled(0, F, n, reasons=(f"0/0: {why}",) if why else ()) for n, why in enumerate(reasons)]
    return _said(process(*compiles, graphs=(graph(0),)))


def test_where_every_guard_held_nothing_is_said_to_have_changed() -> None:
    held = "Unexpected recompilation: runtime guards failed even though they passed during analysis."
    assert "1 recompile, though every guard of f() held: see the findings." in _reasoned("", held)


def test_a_reason_in_words_not_known_is_told_as_torch_tells_it() -> None:
    assert "2 recompiles, all of f(), because of: It is a new day." in _reasoned(
        "", "It is a new day", "It is a new day"
    )


def _limited(*counts: tuple[int, int | None]) -> str:
    """Functions at their limit: calls that ran eager, and those of the one graph (None: unknown)."""
    places = [place(name, line) for name, line in zip(("f", "g"), (10, 30), strict=True)][: len(counts)]
    compiles = [c for n, code in enumerate(places) for c in (compiled(n, code), refused(n, code, 1))]
    graphs = tuple(graph(n, calls=calls) for n, (_, calls) in enumerate(counts))
    conversions = tuple(conversion(compiled(n, code), 5 + n) for n, code in enumerate(places))
    eager = {5 + n: ran for n, (ran, _) in enumerate(counts)}
    return _said(process(*compiles, graphs=graphs, conversions=conversions, eager_calls=eager))


def test_behind_a_limit_only_the_calls_that_ran_eager_are_said_to() -> None:
    """Entries made before the limit go on serving the calls that fit them."""
    assert "f() hit the recompile limit: 10 of its 50 calls ran WITHOUT torch.compile." in _limited((10, 40))
    both = "f() and g() hit the recompile limit: 12 of their 53 calls ran WITHOUT torch.compile."
    assert both in _limited((10, 40), (2, 1))


def test_behind_a_limit_whose_calls_nobody_counted_no_number_is_said() -> None:
    expected = "calls that fit none of the graphs compiled before run WITHOUT torch.compile."
    assert f"f() hit the recompile limit: {expected}" in _limited((10, None))


def test_breaks_of_the_program_are_counted_as_lines() -> None:
    lines = [("/home/user/train.py", line, "f") for line in (11, 12)]
    first, second = (graph_break(0, [line]) for line in lines)
    compiles: tuple[Any, ...] = (compiled(0, F), compiled(1, F))
    said = _said(process(*compiles, graphs=(graph(0),), breaks=(first, second)))
    assert "2 lines of your code break the graph" in said


def test_a_function_that_a_break_leaves_to_the_interpreter_is_named() -> None:
    """A break inside of a loop: other functions are compiled, this one and what it calls are not."""
    report = _report(process(compiled(0, F), graphs=(graph(0),)))
    why = "Data-dependent branching"
    site = GraphBreak(
        "train.py", 21, "g", None, [], [why], [], why, None, 2, 5, ["frame_skipped"], [], [], "p"
    )
    told = verdict(
        report.recording,
        report.totals,
        limits=[],
        breaks=[site],
        recompiles=[],
        failures=[],
        skips=[Skip("g", "train.py", 20, why, "p"), Skip("h", "train.py", 2, "no tensor in it", "p")],
        diagnoses=[],
        last_compile_s=None,
    )
    assert "g() runs WITHOUT torch.compile because of train.py:21." in told.sentences


def test_where_nothing_was_compiled_the_first_break_is_named() -> None:
    event = graph_break(0, [("/home/user/train.py", 11, "f")])
    report = _report(process(compiled(0, F, has_code=False), breaks=(event,)))
    assert report.verdict.sentences[0].endswith("The first break: train.py:11.")


def test_code_without_a_name_is_no_function() -> None:
    assert [called(name) for name in ("f", "<module>", "<lambda>", None)] == [
        "f()",
        "module level",
        "a lambda",
        "a function()",
    ]
