"""Containers: their length, the keys of a dict, the members of a set."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from compilescope.analysis.change import Change
from compilescope.analysis.code_text import Condition
from compilescope.analysis.source_text import Readable, length_of, readable
from compilescope.analysis.value_guard import CONTAINERS, got_value, made
from compilescope.model.clipped import clipped


def length_change(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    new = got.get("len", got.get("v") if got.get("t") == "len" else None)
    known = new is not None
    if not known and got.get("t") == "none":
        return made(condition, name, "value", "a container", None, value_type="none")
    container = got.get("t") if got.get("t") in CONTAINERS else None
    return made(
        condition,
        name,
        "container_length",
        condition.expected,
        new,
        source=length_of(name.text),
        new_known=known,
        detail=container,
    )


def members_change(condition: Condition, name: Readable, got: Mapping[str, Any]) -> Change:
    """A set compared as a whole: another size, or as many other members."""
    old_length = _count(str(condition.expected))
    if old_length is not None and got.get("len") != old_length:
        return made(
            condition,
            name,
            "container_length",
            old_length,
            got.get("len"),
            source=length_of(name.text),
            detail="set",
        )
    return made(
        condition, name, "dict_keys", condition.expected, "other members", source=f"members of {name.text}"
    )


def membership_change(condition: Condition, got: Mapping[str, Any]) -> Change:
    """A key of a dict or a member of a set: there, or at its place in the order."""
    source = condition.source or ""
    if "dict.keys(" in source:
        inner = source[source.index("dict.keys(") + len("dict.keys(") :].split(")", 1)[0]
        name = readable(inner)
        keys = got.get("keys") or (got.get("v") if got.get("t") == "keys" else None)
        new = clipped(", ".join(str(key) for key in keys), 80) if isinstance(keys, list) else got_value(got)
        return made(
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
    return made(
        condition,
        name,
        "dict_keys",
        was_there,
        not was_there,
        source=f"{condition.expected!r} in {name.text}",
    )


def _count(members: str) -> int | None:
    """How many members a set has, from its text."""
    try:
        tree = ast.parse(members, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return len(tree.elts) if isinstance(tree, ast.Set) else None
