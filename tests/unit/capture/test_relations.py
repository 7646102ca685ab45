"""Conditions over several values: evaluated as Python would, over values read without user code."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.capture._inert import UnreadableError
from compilescope.capture._relations import condition_of, duplicates, evaluate

_NAMES = ("L['a']", "L['b']", "L['x'].size()[0]", "L['x'].stride()[0]")
_numbers = st.integers(-20, 20)


def _arithmetic(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(children, st.sampled_from(["+", "-", "*", "//", "%", "/"]), children).map(
        lambda parts: "({} {} {})".format(*parts)
    ) | st.tuples(st.sampled_from(["max", "min"]), children, children).map(
        lambda parts: "{}({}, {})".format(*parts)
    )


_terms = st.recursive(
    st.sampled_from(_NAMES) | _numbers.map(lambda n: f"({n})" if n < 0 else str(n)), _arithmetic, max_leaves=6
)
_operators = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_comparisons = st.tuples(_terms, _operators, _terms, _operators, _terms).map(
    lambda parts: "{} {} {} {} {}".format(*parts)
) | st.tuples(_terms, _operators, _terms).map(lambda parts: "{} {} {}".format(*parts))
_conditions = st.recursive(
    _comparisons,
    lambda children: (
        st.tuples(children, st.sampled_from(["and", "or"]), children).map(
            lambda parts: "({}) {} ({})".format(*parts)
        )
        | children.map("not ({})".format)
    ),
    max_leaves=4,
)


class _X:
    """Python's ``eval`` needs these two calls to be plain."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.size, self.stride = tensor.size, tensor.stride


@settings(deadline=None)
@given(condition=_conditions, a=_numbers, b=_numbers, rows=st.integers(0, 5))
def test_a_condition_holds_exactly_when_python_says_so(condition: str, a: int, b: int, rows: int) -> None:
    x = torch.empty(rows, 3, device="meta")
    try:
        expected = bool(eval(condition, {"L": {"a": a, "b": b, "x": _X(x)}}))
    except ArithmeticError:
        with pytest.raises(UnreadableError):
            evaluate(condition, {"a": a, "b": b, "x": x}, {})
        return
    holds, operands = evaluate(condition, {"a": a, "b": b, "x": x}, {})
    assert holds is expected
    assert all(said["t"] == "int" for said in operands.values())


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("L['a'] is L['a']", True),
        ("L['a'] is L['b']", False),
        ("L['a'] is not L['b']", True),
        ("L['s'] == 'text'", True),
        ("L['none'] is None", True),
        ("L['n'] != 0 and 4 // L['n'] == 2", False),
        ("L['n'] == 0 or 4 // L['n'] == 2", True),
    ],
)
def test_identity_text_and_short_circuit(condition: str, holds: bool) -> None:
    scope = {"a": object(), "b": object(), "s": "text", "none": None, "n": 0}
    assert evaluate(condition, scope, {})[0] is holds


def test_operands_are_told_under_their_source() -> None:
    part = "L['x'].size()[0] == L['n']  # y = x[:n]  # user.py:3 in f"
    holds, operands = evaluate(part, {"x": torch.ones(4, 2), "n": 3}, {})
    assert not holds
    assert operands == {"L['x'].size()[0]": {"t": "int", "v": 4}, "L['n']": {"t": "int", "v": 3}}


class _Tripwire:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("user code ran")

    __lt__ = __bool__ = __add__ = __index__ = __eq__
    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "condition",
    [
        "L['v'] == 1",
        "L['v'] < L['v']",
        "not L['v']",
        "L['v'] + 1 == 2",
        "max(L['v'], 1) == 1",
        "L['s'] == 'a'",
        "1 == 1 and L['v']",
        "L['v'] in (1, 2)",
        "9 ** 9 ** 9 == 1",
        "L['a'",
        "[x for x in L['v']]",
        "L['v']() == 1",
        "max() == 1",
        "1 < 'a'",
        "~1 == 2",
    ],
)
def test_what_needs_user_code_or_is_no_condition_is_unreadable(condition: str) -> None:
    class Text(str):
        __eq__ = _Tripwire.__eq__
        __hash__ = str.__hash__

    with pytest.raises(UnreadableError):
        evaluate(condition, {"v": _Tripwire(), "s": Text("a")}, {})


def test_the_comment_torch_appends_is_cut() -> None:
    assert condition_of("2 <= L['x']  # x.size()  # f.py:1 in f") == "2 <= L['x']"


def test_duplicates_are_tensors_only() -> None:
    x = torch.ones(1)
    scope: dict[str, Any] = {"a": x, "b": torch.ones(1), "c": x, "d": None, "e": None}
    part = "check_no_aliasing(L['a'], L['b'], L['c'])"
    assert duplicates(part, scope, {}) == ["L['a']", "L['c']"]
    assert duplicates("check_no_aliasing(L['d'], L['e'])", scope, {}) == []
    assert duplicates("check_no_aliasing(L['a'], L['b'])", scope, {}) == []
    for wrong in ("L['a']", "check_no_aliasing(", "check_no_aliasing(L['z'])"):
        with pytest.raises(UnreadableError):
            duplicates(wrong, scope, {})
