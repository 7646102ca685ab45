"""Equality, type and identity guards against the value that failed them, as capture tells it.

``got`` holds ``t``, the type, and ``v``, a scalar or the name of a class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from compilescope.analysis.change import Change, value_type_of
from compilescope.analysis.code_text import Condition
from compilescope.analysis.source_text import Readable, readable

CONTAINERS = frozenset(("list", "tuple", "dict", "set", "frozenset"))
_VALUE_TYPES = frozenset(("int", "float", "str", "bool", "none", "enum"))


def made(
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


def value_change(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    old, known = condition.expected, bool(got)
    new = got_value(got)
    if name.text.endswith(".training") and isinstance(old, bool):
        return made(condition, name, "training_mode", old, new if known else not old)
    if type(old) is bool and not known:
        new, known = not old, True
    got_type = got.get("t")
    if got_type in ("dtype", "device"):
        return made(condition, name, got_type, old, str(new).removeprefix("torch."))
    told_type = got_type if got_type in _VALUE_TYPES else None
    value_type = "none" if old is None else told_type if got else value_type_of(old, new)
    is_other_type = (
        known and None not in (old, new) and got_type != "enum" and _kind_of(old) is not _kind_of(new)
    )
    kind = "type" if is_other_type else "value"
    return made(condition, name, kind, old, new, value_type=value_type, new_known=known)


def type_change(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    new = type_name(got)
    if new == "none":
        return made(condition, name, "value", condition.type_name, None, value_type="none")
    return made(condition, name, "type", condition.type_name, new, new_known=bool(got))


def identity_change(condition: Condition, name: Readable, got: Mapping[str, Any], old: Any) -> Change:
    new = got_value(got)
    if got.get("t") == "enum":
        return made(condition, name, "value", old, new, value_type="enum")
    if got.get("t") == "none":
        return made(condition, name, "value", condition.type_name, None, value_type="none")
    if name.text.endswith(".__code__"):
        owner = Readable(name.text.removesuffix(".__code__"), name.holder, name.root)
        holder = readable(owner.text).holder
        owner = Readable(owner.text, holder if name.root else "global", name.root)
        return made(condition, owner, "code", old or "one function", new_name(got) or "another function")
    return made(
        condition, name, "identity", old or condition.type_name, new_name(got) or new, new_known=bool(got)
    )


def _kind_of(value: Any) -> type:
    return float if value in ("nan", "inf", "-inf") else type(value)


def got_value(got: Mapping[str, Any]) -> Any:
    """The new value where it is a scalar, else the name of its type."""
    value = got.get("v")
    if got.get("t") in CONTAINERS or got.get("t") in ("size", "tensor"):
        return got["t"]
    if isinstance(value, str) and got.get("t") == "str" and isinstance(got.get("len"), int):
        return f"{value}... ({max(got['len'] - len(value), 0):,} more characters)"
    if isinstance(value, str) and got.get("t") == "object":
        return value.rpartition(".")[2]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool | None) else str(got.get("t"))


def new_name(got: Mapping[str, Any]) -> str | None:
    name = got.get("name")
    return name.removeprefix("_VariableFunctionsClass.") if isinstance(name, str) else None


def type_name(got: Mapping[str, Any]) -> str | None:
    kind, value = got.get("t"), got.get("v")
    if kind == "object" and isinstance(value, str):
        return value.rpartition(".")[2]
    return kind if isinstance(kind, str) else None
