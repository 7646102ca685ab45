"""JSON Schema of the report, derived from its dataclasses so that the two cannot drift apart."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

from compilescope.views.json._words import DESCRIPTIONS, VOCABULARY

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS = {str: "string", bool: "boolean", int: "integer", type(None): "null"}


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what :func:`render` returns.

    Every field of this version is required, so that a tool notices a renamed one; more fields may be added
    within a format version, so unknown ones are allowed.
    """
    from compilescope.analysis.report import FORMAT_VERSION, Report

    definitions: dict[str, Any] = {}
    _define(Report, definitions)
    root = definitions.pop("Report")
    root["properties"]["format_version"] = {
        "const": FORMAT_VERSION,
        "description": DESCRIPTIONS["Report.format_version"],
    }
    return {
        "$schema": _DIALECT,
        "$id": f"urn:compilescope:summary:{FORMAT_VERSION}",
        "title": "CompileScope summary",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _define(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Adds ``cls`` and whatever it refers to, and returns the reference to it."""
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}
        hints = get_type_hints(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        definitions[cls.__name__] = {
            "type": "object",
            "description": " ".join((cls.__doc__ or "").split()),
            "properties": {name: _field(cls, name, hints[name], definitions) for name in names},
            "required": names,
        }
        if definitions[cls.__name__]["description"].startswith(f"{cls.__name__}("):
            definitions[cls.__name__]["description"] = DESCRIPTIONS.get(cls.__name__, "")
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _field(cls: type, name: str, hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    key = f"{cls.__name__}.{name}"
    described = {**_of(hint, definitions), "description": DESCRIPTIONS.get(key, "")}
    words = VOCABULARY.get(key)
    if words is None:
        return described
    if described["type"] == "array":
        return {**described, "items": {"enum": list(words)}}
    nullable = "null" in described["type"]
    return {"enum": [*words, None] if nullable else list(words), "description": described["description"]}


def _of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint is float:  # a measure that is not finite is unknown, hence null
        return {"type": ["number", "null"]}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if dataclasses.is_dataclass(hint):
        return _define(hint, definitions)  # type: ignore[arg-type]
    if origin is list:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is tuple:
        prefix = [_of(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": prefix, "minItems": len(prefix), "maxItems": len(prefix)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if origin in (Union, types.UnionType):
        return _either([_of(argument, definitions) for argument in arguments])
    raise TypeError(f"no JSON Schema for {hint!r}")


def _either(options: list[dict[str, Any]]) -> dict[str, Any]:
    """One object for 'T or null' of plain types; ``anyOf`` for references."""
    if any("$ref" in option for option in options):
        return {"anyOf": options}
    merged: dict[str, Any] = {}
    kinds: list[str] = []
    for option in options:
        kind = option["type"]
        kinds += [kind] if isinstance(kind, str) else kind
        merged.update(option)
    unique = list(dict.fromkeys(kinds))
    return {**merged, "type": unique if len(unique) > 1 else unique[0]}
