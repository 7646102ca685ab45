"""A failed guard -> the changes it stands for, in a person's words."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from compilescope.analysis import global_state, torch_reason
from compilescope.analysis.change import Change
from compilescope.analysis.code_text import Condition, comment_of, condition_of, parse
from compilescope.analysis.container_guard import length_change, members_change, membership_change
from compilescope.analysis.source_text import Readable, readable
from compilescope.analysis.symbolic import relation
from compilescope.analysis.tensor_guard import differences, parse_layout
from compilescope.analysis.value_guard import identity_change, made, type_change, type_name, value_change
from compilescope.model import Guard, GuardFailure

_AMBIENT_WORDS = {
    "TORCH_FUNCTION_MODE_STACK": ("torch function modes", "such as `with torch.device(...)`"),
    "DEFAULT_DEVICE": ("default device", "torch.set_default_device"),
    "DUAL_LEVEL_MATCH": ("forward-mode AD level", None),
}
_ALIAS_KINDS = frozenset(("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "WEAKREF_ALIVE"))


def from_guard(guard: Guard, failure: GuardFailure, modules: Set[str]) -> list[Change]:
    """Changes of one guard that was checked again; empty for a guard that says nothing to a person."""
    changes = _of_kind(guard, failure, modules)
    place = guard.at[0] if guard.at else None
    return [replace(change, at=place) for change in changes]


def modes_of(failure: GuardFailure) -> Mapping[str, Any]:
    """The modes in force now, and whether grad mode was on when the entry was compiled."""
    return {**failure.state, "had_grad_mode": failure.before.get("grad_mode")}


def _of_kind(guard: Guard, failure: GuardFailure, modules: Set[str]) -> list[Change]:
    code = guard.code[0] if guard.code else ""
    if guard.kind == "GLOBAL_STATE":
        return global_state.from_modes(failure.before, failure.state) or global_state.from_guard(
            code, failure.state
        )
    if guard.kind in _AMBIENT_WORDS:
        source, detail = _AMBIENT_WORDS[guard.kind]
        kind = "device" if guard.kind == "DEFAULT_DEVICE" else "other"
        return [Change(kind, source, None, None, detail=detail, new_known=False)]
    if guard.kind == "TENSOR_MATCH":
        return _tensor(guard, code, modes_of(failure), modules)
    if guard.kind == "DIMENSION_DYNAMIC_MARKING_GUARD":
        return _marks(guard, modules)
    if guard.kind in _ALIAS_KINDS and guard.got.get("t") == "same":
        names = " and ".join(readable(str(s)).text for s in guard.got.get("v", ()))
        return [Change("identity", names, "different tensors", "the same tensor")]
    if guard.operands:
        return relation(parse(code), guard.operands)
    return from_code(code, guard.source, guard.got, guard.old, modules)


def from_reason(message: str, state: Mapping[str, Any], modules: Set[str]) -> list[Change]:
    """Changes in torch's own message: words, or guard code without the new value."""
    stated = torch_reason.read(message, state)
    if stated is not None:
        return [_named(change, modules) for change in stated]
    return from_code(message, None, {}, None, modules)


def from_code(
    code: str, raw_source: str | None, got: Mapping[str, Any], old: Any, modules: Set[str]
) -> list[Change]:
    """Changes of a guard written as Python: equality, type, identity, length, membership, a relation."""
    condition = parse(code)
    source = raw_source if raw_source and raw_source not in ("L", "G") else condition.source
    if condition.operator == "other" or source is None or _is_computed(condition.source):
        return relation(condition)
    if condition.source and (condition.operator in ("contains", "lacks") or "dict.keys(" in condition.source):
        return [membership_change(condition, got)]
    name = readable(source, free_name=condition.free_name, modules=modules)
    change = _of_operator(condition, name, got, old)
    return [change] if change else []


def _is_computed(source: str | None) -> bool:
    """``1.0 + -1 * L['x']`` is no thing that changes: a number in it is."""
    try:
        return source is not None and isinstance(ast.parse(source, mode="eval").body, ast.BinOp)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _of_operator(condition: Condition, name: Readable, got: Mapping[str, Any], old: Any) -> Change | None:
    match condition.operator:
        case "len":
            return length_change(condition, name, got)
        case "==" | "is":
            if got.get("t") in ("set", "frozenset"):
                return members_change(condition, name, got)
            return value_change(condition, name, got)
        case "type":
            return type_change(condition, name, got)
        case "id":
            return identity_change(condition, name, got, old)
        case _:
            return made(condition, name, "identity", condition.text, f"not ({condition.text})")


def _tensor(guard: Guard, code: str, state: Mapping[str, Any], modules: Set[str]) -> list[Change]:
    condition = condition_of(code)
    name = readable(guard.source or "", modules=modules)
    comment = comment_of(code[len(condition) :])
    if guard.got.get("t") != "tensor":
        found = type_name(guard.got)
        if found == "none":
            changes = [Change("value", name.text, "Tensor", None, value_type="none")]
        else:
            changes = [Change("type", name.text, "Tensor", found, new_known=bool(guard.got))]
        return [replace(c, holder=name.holder, root=name.root, comment=comment) for c in changes]
    layout, got = parse_layout(condition), guard.got.get("v")
    if layout is None or not isinstance(got, Mapping):
        return []
    changes = _tensor_class(code, name, got) or differences(name.text, layout, got, state)
    return [replace(c, holder=name.holder, root=name.root, comment=comment) for c in changes]


def _tensor_class(code: str, name: Readable, got: Mapping[str, Any]) -> list[Change]:
    """Another Python class: a Parameter or a subclass where a plain tensor was. Torch looks at it first."""
    old = code.split(", ", 2)[1:2]
    new = got.get("type")
    return [Change("type", name.text, old[0], new)] if old and new and old[0] != new else []


def _marks(guard: Guard, modules: Set[str]) -> list[Change]:
    """mark_dynamic, mark_static and the like were called on one of the two tensors and not on the other."""
    name = readable(guard.source or "", modules=modules)
    comment = comment_of(guard.code[0]) if guard.code else None
    return [
        Change(
            "constraint",
            f"{name.text} dynamic marks",
            None,
            None,
            name.holder,
            comment=comment,
            new_known=False,
        )
    ]


def _named(change: Change, modules: Set[str]) -> Change:
    """Torch's message in our words for the same source, so that both name one cause."""
    if not change.from_tensor and change.kind not in ("type", "value"):
        return change
    head, separator, tail = change.source.partition(" ")
    name = readable(head, modules=modules)
    return replace(change, source=f"{name.text}{separator}{tail}", holder=name.holder, root=name.root)
