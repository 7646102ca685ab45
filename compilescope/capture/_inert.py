"""Looking at any Python object without running a line of its author's code.

``isinstance`` asks ``__class__``, ``==`` asks ``__eq__``, ``type(x).__name__`` asks a metaclass, ``d[k]``
asks ``__missing__`` and the keys' ``__eq__``: lazy proxies, ORM fields and mocks hook all of them. What is
used here is only what CPython itself keeps: slots of the type, found through ``type``'s own descriptors.
"""

from __future__ import annotations

import types
from typing import Any, Final

MISSING: Final = object()
MAX_KEYS_SCANNED = 50_000

_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_DICT_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


class UnreadableError(Exception):
    """The value cannot be read without running user code, or is not there."""


def is_one_of(kind: Any, *kinds: type) -> bool:
    """Whether ``kind`` is one of these very types."""
    return any(kind is k for k in kinds)


def is_a(value: Any, *kinds: type) -> bool:
    """``isinstance`` by the real type alone."""
    return derives(type(value), *kinds)


def derives(kind: type, *kinds: type) -> bool:
    return any(base is k for base in _mro(kind) for k in kinds)


def type_attribute(kind: type, name: str) -> Any:
    """What the class body, or a base's, holds under the name; MISSING if nothing."""
    for base in _mro(kind):
        held = _namespace(base).get(name, MISSING)
        if held is not MISSING:
            return held
    return MISSING


def has_on_type(value: Any, name: str) -> bool:
    """Whether a value's type defines a method such as ``__get__``."""
    return type_attribute(type(value), name) is not MISSING


def instance_dict(owner: Any) -> dict[str, Any] | None:
    """The object's own ``__dict__``; None where it has none or computes one."""
    descriptor = type_attribute(type(owner), "__dict__")
    if not is_one_of(type(descriptor), *_DICT_DESCRIPTORS):
        return None
    held = descriptor.__get__(owner)
    return held if is_a(held, dict) else None


def item_of_dict(owner: dict[Any, Any], key: Any) -> Any:
    """``owner[key]`` for an exact builtin key, comparing it with keys of its own type only. Else MISSING."""
    if dict.__len__(owner) > MAX_KEYS_SCANNED:
        raise UnreadableError("a very large dict")
    kind = type(key)
    for held, value in dict.items(owner):
        if type(held) is kind and (kind is not tuple or _is_plain_tuple(held)) and held == key:
            return value
    return MISSING


def _is_plain_tuple(value: tuple[Any, ...]) -> bool:
    """Tuples compare element by element: only builtin scalars may be asked."""
    return all(v is None or is_one_of(type(v), bool, int, float, str) for v in value)


def class_dict(kind: type) -> dict[str, Any]:
    """A copy of what the class body made."""
    return dict(_namespace(kind))


def bases(kind: type) -> tuple[type, ...]:
    """``__mro__``, past any metaclass' own."""
    return tuple(_mro(kind))


def type_name(kind: type) -> str:
    """``module.QualName`` as the type object itself says."""
    module, name = _module(kind), _qualname(kind)
    return f"{module}.{name}" if type(module) is str else str(name)


def short_name(kind: type) -> str:
    return str(_qualname(kind))
