"""A recompile is told against the entry that came closest to fitting, which need not be the newest one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_values import compiled, index, place, process, refused

from compilescope.analysis.attempts import Attempts
from compilescope.analysis.causes_of_frames import BreakOrigins
from compilescope.analysis.change import Change
from compilescope.analysis.limits import limit_hits
from compilescope.analysis.nearest import Entries
from compilescope.analysis.recompiles import recompiles
from compilescope.analysis.report import Recompile
from compilescope.analysis.worst import detail
from compilescope.model import Compile, Guard, GuardFailure, Process

F = place("f", 10)


def _rows(of: Process) -> dict[str, Recompile]:
    found = index(of)
    return {row.source: row for row in recompiles(found, Attempts(found), BreakOrigins(found))}


def _value(source: str, old: object, new: object) -> Guard:
    kind = type(new).__name__
    return Guard("EQUALS_MATCH", f"L['{source}']", (f"L['{source}'] == {old!r}",), {"t": kind, "v": new})


def _failed(compile_: Compile, *guards: Guard) -> GuardFailure:
    newest = f"0/{compile_.id.recompile - 1}"
    return GuardFailure(compile_.id, newest, True, f"{newest}: {guards[0].code[0]}", guards, {}, {}, {}, 1)


def _alternating() -> Process:
    """``mode`` alternates and ``calls`` counts up; torch looks at the mode first."""
    first = compiled(0, F, 1, reasons=("0/0: L['mode'] == 'a'",))
    second = compiled(0, F, 2, reasons=("0/1: L['mode'] == 'b'", "0/0: L['calls'] == 0"))
    third = refused(
        0, F, 3, reasons=("0/2: L['mode'] == 'a'", "0/1: L['calls'] == 1", "0/0: L['mode'] == 'a'")
    )
    failures = (
        _failed(first, _value("mode", "a", "b"), _value("calls", 0, 1)),
        _failed(second, _value("mode", "b", "a"), _value("calls", 1, 2)),
        _failed(third, _value("mode", "a", "b"), _value("calls", 2, 3)),
    )
    return process(compiled(0, F), first, second, third, guard_failures=failures)


def test_a_value_that_an_older_entry_has_is_not_what_is_compiled_anew() -> None:
    rows = _rows(_alternating())
    assert (rows["calls"].count, rows["calls"].blocked_by_limit) == (2, 1)
    assert rows["calls"].changes == [(0, 1), (0, 2)]
    assert (rows["mode"].count, rows["mode"].blocked_by_limit) == (1, 0)
    assert [c.source for c in rows["calls"].also_changed] == ["mode"]
    assert detail(rows["calls"]) == "calls 0 -> 1 -> 2 -> 3"


def test_what_torchs_warning_blames_is_kept() -> None:
    found = index(_alternating())
    (limit,) = limit_hits(found, Attempts(found))[0]
    assert limit.last_cause is not None
    assert limit.last_cause.source == "mode"


def test_torchs_word_for_an_older_entry_is_the_cause_where_all_else_fits() -> None:
    """Decoding after a second prompt: the cache is there again, and has other strides than the one before."""
    stride = "tensor 'cache' stride mismatch at index 2. expected 8, actual 96"
    first = compiled(0, F, 1)
    second = compiled(0, F, 2, reasons=("0/1: L['on'] == True", "0/0: L['n'] == 1"))
    third = compiled(0, F, 3, reasons=("0/2: L['on'] == False", f"0/1: {stride}"))
    failures = (
        _failed(first, _value("on", False, True)),
        _failed(second, _value("on", True, False), _value("n", 1, 2)),
        _failed(third, _value("on", False, True), _value("n", 2, 1)),
    )
    rows = _rows(process(compiled(0, F), first, second, third, guard_failures=failures))
    assert rows["cache stride dim 2"].changes == [(8, 96)]
    assert rows["on"].count == 1


def test_a_number_that_code_fixed_again_and_again_shows_its_values() -> None:
    """A learning rate that is a symbol, and is specialized: torch's guard is a relation, not an equality."""
    compiles = [compiled(0, F, number) for number in range(3)] + [refused(0, F, 3)]
    codes = [f"L['lr'] == {rate}" for rate in (0.05, 0.04, 0.025)]
    relations = [Guard("LAMBDA_GUARD", "L['lr']", (code,), {}, operands={"L['lr']": {}}) for code in codes]
    failures = tuple(_failed(c, guard) for c, guard in zip(compiles[1:], relations, strict=True))
    row = _rows(process(*compiles, guard_failures=failures))["lr"]
    assert row.changes == [(0.05, 0.04), (0.04, 0.025)]
    assert row.blocked_changes == [(0.025, "other")]
    assert detail(row) == "lr 0.05 -> 0.04 -> 0.025 -> other"


@pytest.mark.parametrize("last", [2.0, 0.0])
def test_the_number_that_came_last_is_told_where_it_was_read(last: float) -> None:
    compiles = [compiled(0, F, number) for number in range(3)]
    relations = [
        Guard("LAMBDA_GUARD", "L['lr']", (f"L['lr'] == {old}",), {}, operands={"L['lr']": {"v": new}})
        for old, new in ((1.0, 1.5), (1.5, last))
    ]
    failures = tuple(_failed(c, guard) for c, guard in zip(compiles[1:], relations, strict=True))
    row = _rows(process(*compiles, guard_failures=failures))["lr"]
    assert row.changes == [(1.0, 1.5), (1.5, last)]


def test_an_object_or_an_unknown_value_is_never_taken_for_an_older_one() -> None:
    entries = Entries()
    one = Change("identity", "hook", "one object", "another")
    back = Change("identity", "hook", "another", "one object")
    number = (0, (Change("value", "n", 0, None, new_known=False),))
    assert entries.nearest([one], [], into=1).changes == (one,)
    assert entries.nearest([back], [number], into=2).changes == (back,)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=2, max_size=8, unique=True))
def test_every_recompile_keeps_a_cause_and_none_is_of_a_value_that_fits(calls: list[tuple[str, int]]) -> None:
    """Entries of two variables, each compared with the newest: what is told differs from some entry."""
    entries, seen = Entries(), [calls[0]]
    for number, call in enumerate(calls[1:], 1):
        changes = [
            Change("value", name, old, new)
            for name, old, new in zip(("mode", "n"), seen[-1], call, strict=True)
            if old != new
        ]
        older = [(i, _first_failing(entry, call)) for i, entry in enumerate(seen[:-1])]
        found = entries.nearest(changes, older, into=number)
        assert found.changes
        told = {c.source: c.old for c in found.changes}
        closest = min(sum(a != b for a, b in zip(entry, call, strict=True)) for entry in seen)
        assert len(found.changes) == closest
        assert any(
            all(told.get(name, new) == old for name, old, new in zip(("mode", "n"), entry, call, strict=True))
            for entry in seen
        )
        seen.append(call)


def _first_failing(entry: tuple[str, int], call: tuple[str, int]) -> tuple[Change, ...]:
    pairs = zip(("mode", "n"), entry, call, strict=True)
    return tuple(Change("value", name, old, new) for name, old, new in pairs if old != new)[:1]
