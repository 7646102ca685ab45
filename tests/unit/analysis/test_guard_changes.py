"""Failed guards with their new values, as capture tells them, in a person's words."""

from __future__ import annotations

from typing import Any

import pytest

from compilescope.analysis.change import Change
from compilescope.analysis.guard_changes import from_guard, from_reason
from compilescope.model import CompileId, Guard, GuardFailure, Location

AT = Location("/home/user/train.py", 8, "f")


def _change(kind: str, source: str | None, code: str, got: dict[str, Any], **more: Any) -> Change:
    state, before = more.pop("state", {}), more.pop("before", {})
    guard = Guard(kind, source, (code,), got, at=(AT,), **more)
    failure = GuardFailure(CompileId(0, 0, 1), "0/0", True, None, (guard,), {}, state, before, None)
    (change,) = from_guard(guard, failure, frozenset({"self"}))
    return change


@pytest.mark.parametrize(
    ("code", "got", "kind", "old", "new", "value_type"),
    [
        ("L['n'] == 2", {"t": "int", "v": 3}, "value", 2, 3, "int"),
        ("L['n'] == 2.5", {"t": "float", "v": 3.5}, "value", 2.5, 3.5, "float"),
        ("L['n'] == 'ab'", {"t": "str", "v": "c"}, "value", "ab", "c", "str"),
        ("L['n'] == True", {"t": "bool", "v": False}, "value", True, False, "bool"),
        ("L['n'] == 1", {"t": "float", "v": 1.5}, "type", 1, 1.5, "float"),
        ("L['n'] is None", {"t": "tuple", "len": 2}, "value", None, "tuple", "none"),
        ("L['n'] == 1", {"t": "none", "v": None}, "value", 1, None, "none"),
        (
            "L['n'] == torch.float32",
            {"t": "dtype", "v": "torch.float16"},
            "dtype",
            "float32",
            "float16",
            None,
        ),
        ("L['n'] == {1, 2}", {"t": "set", "len": 3}, "container_length", 2, 3, None),
        ("L['n'] == {1, 2}", {"t": "set", "len": 2}, "dict_keys", "{1, 2}", "other members", None),
        ("L['n'] == (1+2j)", {"t": "object", "v": "builtins.complex"}, "value", "1 + 2j", "complex", None),
    ],
)
def test_equality(
    code: str, got: dict[str, Any], kind: str, old: Any, new: Any, value_type: str | None
) -> None:
    change = _change("EQUALS_MATCH", "L['n']", code, got)
    assert (change.kind, change.old, change.new, change.value_type) == (kind, old, new, value_type)
    assert change.at == AT


def test_a_list_that_grows_names_its_container() -> None:
    change = _change("LENGTH_CHECK", "L['h']", "len(L['h']) == 3", {"t": "list", "len": 4})
    assert (change.kind, change.source, change.old, change.new) == ("container_length", "len(h)", 3, 4)
    assert (change.detail, change.subject) == ("list", "h")


def test_a_dict_length_is_a_length_too() -> None:
    change = _change("DICT_LENGTH", "L['s']", "len(L['s']) == 0", {"t": "dict", "len": 1, "keys": ["a"]})
    assert (change.kind, change.old, change.new, change.detail) == ("container_length", 0, 1, "dict")


def test_an_enum_has_its_old_member_only_where_capture_found_it() -> None:
    code = "___check_obj_id(L['m'], 13), type=<class '__main__.Mode'>"
    got = {"t": "enum", "v": "Mode.B"}
    assert _change("ID_MATCH", "L['m']", code, got, old="Mode.A").old == "Mode.A"
    change = _change("ID_MATCH", "L['m']", code, got)
    assert (change.kind, change.old, change.new, change.value_type) == ("value", None, "Mode.B", "enum")


def test_another_function_is_a_change_of_code_not_of_identity() -> None:
    code = "___check_obj_id(L['f'].__code__, 14), type=<class 'code'>"
    change = _change("ID_MATCH", "L['f'].__code__", code, {"t": "object", "v": "builtins.code"})
    assert (change.kind, change.source, change.holder) == ("code", "f", "argument")


def test_another_type_is_named_without_its_module() -> None:
    code = "___check_type_id(L['c'], 9), type=<class '__main__.Cfg'>"
    change = _change("TYPE_MATCH", "L['c']", code, {"t": "object", "v": "__main__.Sub"})
    assert (change.kind, change.old, change.new) == ("type", "Cfg", "Sub")


def test_another_tensor_class_comes_before_its_layout() -> None:
    code = (
        "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, size=[4], stride=[1])"
    )
    layout = {"type": "Parameter", "dtype": "float32", "requires_grad": True, "size": [4], "stride": [1]}
    change = _change("TENSOR_MATCH", "L['x']", code, {"t": "tensor", "v": layout})
    assert (change.kind, change.old, change.new) == ("type", "Tensor", "Parameter")


def test_a_tensor_that_is_none_now() -> None:
    change = _change("TENSOR_MATCH", "L['m']", "check_tensor(L['m'], Tensor)", {"t": "none", "v": None})
    assert (change.kind, change.new, change.value_type) == ("value", None, "none")


def test_global_state_is_what_differs_from_when_the_entry_was_compiled() -> None:
    modes = {
        "before": {"grad_mode": True, "autocast_cpu": False},
        "state": {"grad_mode": False, "autocast_cpu": False},
    }
    change = _change("GLOBAL_STATE", "L", "___check_global_state() against {}", {}, **modes)
    assert (change.kind, change.old, change.new) == ("grad_mode", True, False)


def test_a_relation_of_sizes_shows_the_value_that_broke_it() -> None:
    operands = {"L['x'].size()[0]": {"t": "int", "v": 20}}
    change = _change("LAMBDA_GUARD", "L['x'].size()[0]", "2 <= L['x'].size()[0] <= 10", {}, operands=operands)
    assert (change.kind, change.source, change.old, change.new) == (
        "symbolic_guard",
        "x dim 0",
        "2 <= x dim 0 <= 10",
        20,
    )


@pytest.mark.parametrize(
    ("code", "values", "kind", "old", "new"),
    [
        (
            "L['x'].size()[1]*L['x'].size()[0] > 100",
            {"L['x'].size()[1]": 5, "L['x'].size()[0]": 3},
            "symbolic_guard",
            "x dim 1*x dim 0 > 100",
            "x dim 1 = 5, x dim 0 = 3",
        ),
        (
            "L['b'].size()[0] == L['a'].size()[0]",
            {"L['b'].size()[0]": 7, "L['a'].size()[0]": 5},
            "duck_shape",
            "b dim 0 == a dim 0",
            "7 and 5",
        ),
        (
            "L['x'].stride()[0] == L['x'].size()[1]",
            {"L['x'].stride()[0]": 8, "L['x'].size()[1]": 4},
            "stride",
            "x stride dim 0 == x dim 1",
            "x stride dim 0 != x dim 1",
        ),
        ("L['k'] >= 0 and L['k'] <= 9", {"L['k']": 12}, "symbolic_guard", "k >= 0 and k <= 9", 12),
        ("L['k'] <= 3", {"L['k']": 9}, "symbolic_guard", "k <= 3", "k > 3"),
    ],
)
def test_relations(code: str, values: dict[str, int], kind: str, old: str, new: Any) -> None:
    operands = {source: {"t": "int", "v": value} for source, value in values.items()}
    change = _change("LAMBDA_GUARD", None, code, {}, operands=operands)
    assert (change.kind, change.old, change.new) == (kind, old, new)


def test_a_relation_broken_by_a_size_of_one_is_a_size_of_one() -> None:
    operands = {"L['x'].size()[0]": {"t": "int", "v": 1}}
    change = _change("LAMBDA_GUARD", None, "2 <= L['x'].size()[0]", {}, operands=operands)
    assert (change.kind, change.new) == ("size_one", 1)


def test_a_number_inside_of_arithmetic_is_what_changes() -> None:
    """Torch turns floats into tensors and guards on what it computes of them."""
    (change,) = from_reason("(1.0 + ((-1)*L['k'])) == 0.75  # (fx/passes/x.py:429 in f)", {}, frozenset())
    assert (change.kind, change.source, change.old) == (
        "symbolic_guard",
        "k",
        "(1.0 + ((-1)*k)) == 0.75",
    )


def test_the_same_tensor_twice() -> None:
    got = {"t": "same", "v": ["L['x']", "L['out']"]}
    change = _change("NO_TENSOR_ALIASING", "L['x']", "check_no_aliasing(L['x'], L['out'])", got)
    assert (change.kind, change.source) == ("identity", "x and out")


def test_numbers_that_json_cannot_hold_are_text() -> None:
    assert _change("EQUALS_MATCH", "L['f']", "L['f'] == 1.0", {"t": "float", "v": float("inf")}).new == "inf"


@pytest.mark.parametrize(
    "code", ["L['s'] == {1, 2", "L['s'] == 5", "L['s'] == 'x'", "L['s'] == <set at 0x1>"]
)
def test_a_set_against_anything_is_a_change_of_members(code: str) -> None:
    assert _change("EQUALS_MATCH", "L['s']", code, {"t": "set", "len": 2}).kind in ("dict_keys", "unknown")
