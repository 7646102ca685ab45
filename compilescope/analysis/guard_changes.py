"""A failed guard -> the changes it stands for, in a person's words."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from compilescope.analysis import global_state, torch_reason
from compilescope.analysis.change import Change, value_type_of
from compilescope.analysis.code_text import Condition, comment_of, condition_of, parse
from compilescope.analysis.source_text import Readable, length_of, readable
from compilescope.analysis.symbolic import relation
from compilescope.analysis.tensor_guard import differences, parse_layout
from compilescope.model import Guard, GuardFailure

_AMBIENT_WORDS = {
    "TORCH_FUNCTION_MODE_STACK": ("torch function modes", "such as `with torch.device(...)`"),
    "DEFAULT_DEVICE": ("default device", "torch.set_default_device"),
    "DUAL_LEVEL_MATCH": ("forward-mode AD level", None),
}
_CONTAINERS = frozenset(("list", "tuple", "dict", "set", "frozenset"))
_VALUE_TYPES = frozenset(("int", "float", "str", "bool", "none", "enum"))
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
    if condition.operator == "other" or source is None:
        return relation(condition)
    if condition.source and (condition.operator in ("contains", "lacks") or "dict.keys(" in condition.source):
        return [_membership(condition, got)]
    name = readable(source, free_name=condition.free_name, modules=modules)
    change = _of_operator(condition, name, got, old)
    return [change] if change else []


def _of_operator(condition: Condition, name: Readable, got: Mapping[str, Any], old: Any) -> Change | None:
    match condition.operator:
        case "len":
            return _length(condition, name, got)
        case "==" | "is":
            return _value(condition, name, got)
        case "type":
            return _type(condition, name, got)
        case "id":
            return _identity(condition, name, got, old)
        case _:
            return _make(condition, name, "identity", condition.text, f"not ({condition.text})")


def _make(
    condition: Condition,
    name: Readable,
    kind: str,
    old: Any,
    new: Any,
    *,
    source: str | None = None,
    **more: Any,
) -> Change:
    return Change(
        kind, source or name.text, old, new, name.holder, comment=condition.comment, root=name.root, **more
    )


def _length(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    new = got.get("len", got.get("v") if got.get("t") == "len" else None)
    known = new is not None
    if not known and got.get("t") == "none":
        return _make(condition, name, "value", "a container", None, value_type="none")
    container = got.get("t") if got.get("t") in _CONTAINERS else None
    return _make(
        condition,
        name,
        "container_length",
        condition.expected,
        new,
        source=length_of(name.text),
        new_known=known,
        detail=container,
    )


def _value(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    old, known = condition.expected, bool(got)
    new = got_value(got)
    if name.text.endswith(".training") and isinstance(old, bool):
        return _make(condition, name, "training_mode", old, new if known else not old)
    if type(old) is bool and not known:
        new, known = not old, True
    got_type = got.get("t")
    if got_type in ("dtype", "device"):
        return _make(condition, name, got_type, old, str(new).removeprefix("torch."))
    if got_type in ("set", "frozenset"):
        return _members(condition, name, got)
    told_type = got_type if got_type in _VALUE_TYPES else None
    value_type = "none" if old is None else told_type if got else value_type_of(old, new)
    is_other_type = (
        known and None not in (old, new) and got_type != "enum" and _kind_of(old) is not _kind_of(new)
    )
    kind = "type" if is_other_type else "value"
    return _make(condition, name, kind, old, new, value_type=value_type, new_known=known)


def _members(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    """A set compared as a whole: another size, or as many other members."""
    elements = str(condition.expected).strip("{}")
    old_length = len(ast.parse(f"[{elements}]").body[0].value.elts)  # type: ignore[attr-defined]
    if got.get("len") != old_length:
        return _make(
            condition,
            name,
            "container_length",
            old_length,
            got.get("len"),
            source=length_of(name.text),
            detail="set",
        )
    return _make(
        condition, name, "dict_keys", condition.expected, "other members", source=f"members of {name.text}"
    )


def _type(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    new = _type_name(got)
    if new == "none":
        return _make(condition, name, "value", condition.type_name, None, value_type="none")
    return _make(condition, name, "type", condition.type_name, new, new_known=bool(got))


def _identity(condition: Condition, name: Readable, got: Mapping[str, Any], old: Any) -> Change:
    new = got_value(got)
    if got.get("t") == "enum":
        return _make(condition, name, "value", old, new, value_type="enum")
    if got.get("t") == "none":
        return _make(condition, name, "value", condition.type_name, None, value_type="none")
    if name.text.endswith(".__code__"):
        owner = Readable(name.text.removesuffix(".__code__"), name.holder, name.root)
        holder = readable(owner.text).holder
        owner = Readable(owner.text, holder if name.root else "global", name.root)
        return _make(condition, owner, "code", old or "one function", new_name(got) or "another function")
    return _make(
        condition, name, "identity", old or condition.type_name, new_name(got) or new, new_known=bool(got)
    )


def _membership(condition: Condition, got: Mapping[str, Any]) -> Change:
    """A key of a dict or a member of a set: there, or at its place in the order."""
    source = condition.source or ""
    if "dict.keys(" in source:
        inner = source[source.index("dict.keys(") + len("dict.keys(") :].split(")", 1)[0]
        name = readable(inner)
        keys = got.get("keys") or (got.get("v") if got.get("t") == "keys" else None)
        new = keys or got_value(got)
        return _make(
            condition,
            name,
            "dict_keys",
            condition.expected,
            new,
            source=f"keys of {name.text}",
            new_known=bool(got),
        )
    name = readable(source)
    was_there = condition.operator == "contains"
    return _make(
        condition,
        name,
        "dict_keys",
        was_there,
        not was_there,
        source=f"{condition.expected!r} in {name.text}",
    )


def _tensor(guard: Guard, code: str, state: Mapping[str, Any], modules: Set[str]) -> list[Change]:
    condition = condition_of(code)
    name = readable(guard.source or "", modules=modules)
    comment = comment_of(code[len(condition) :])
    if guard.got.get("t") != "tensor":
        found = _type_name(guard.got)
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


def _kind_of(value: Any) -> type:
    return float if value in ("nan", "inf", "-inf") else type(value)


def got_value(got: Mapping[str, Any]) -> Any:
    """The new value where it is a scalar, else the name of its type."""
    value = got.get("v")
    if got.get("t") in _CONTAINERS or got.get("t") in ("size", "tensor"):
        return got["t"]
    if isinstance(value, str) and got.get("t") == "object":
        return value.rpartition(".")[2]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool | None) else str(got.get("t"))


def new_name(got: Mapping[str, Any]) -> str | None:
    name = got.get("name")
    return name.removeprefix("_VariableFunctionsClass.") if isinstance(name, str) else None


def _type_name(got: Mapping[str, Any]) -> str | None:
    kind, value = got.get("t"), got.get("v")
    if kind == "object" and isinstance(value, str):
        return value.rpartition(".")[2]
    return kind if isinstance(kind, str) else None
