"""A value as the recording tells it: builtin and torch scalar types only, never a user's ``repr``."""

from __future__ import annotations

import enum
import math
import types
from typing import Any

from compilescope.capture._inert import (
    UnreadableError,
    derives,
    instance_dict,
    is_a,
    is_one_of,
    item_of_dict,
    short_name,
    type_name,
)

MAX_TEXT = 80
MAX_KEYS = 50


def told(value: Any) -> dict[str, Any]:
    """``{"t": kind, "v": value}``, with ``len``, ``keys``, ``name``, ``at`` where they apply."""
    kind = type(value)
    scalar = _scalar(value, kind)
    if scalar is not None:
        return scalar
    described: dict[str, Any] = {"t": "object", "v": type_name(kind)}
    if is_a(value, list, tuple, dict, set, frozenset):
        described |= _container(value, kind)
    elif is_one_of(kind, types.FunctionType, types.MethodType):
        described |= _function(value)
    elif is_a(value, type):
        described["name"] = short_name(value)[:MAX_TEXT]
    elif kind is types.BuiltinFunctionType:
        described["name"] = value.__qualname__[:MAX_TEXT]
    elif derives(kind, enum.Enum):
        described |= _member(value, kind)
    return described


def _scalar(value: Any, kind: type) -> dict[str, Any] | None:
    import torch

    if value is None:
        return {"t": "none", "v": None}
    if kind is int:
        return {"t": "int", "v": value if abs(value) < 2**63 else f"{value.bit_length()}-bit integer"}
    if kind is bool:
        return {"t": "bool", "v": value}
    if kind is float:
        return {"t": "float", "v": value if math.isfinite(value) else str(value)}
    if kind is str:
        told = {"t": "str", "v": value[:MAX_TEXT]}
        return told if len(value) <= MAX_TEXT else {**told, "len": len(value)}
    if is_one_of(kind, torch.dtype, torch.device, torch.layout, torch.memory_format):
        return {"t": short_name(kind), "v": str(value)}
    if is_a(value, torch.Tensor):
        return {"t": "tensor", "v": tensor_layout(value)}
    if kind is torch.Size:
        return {"t": "size", "v": _plain_sizes(value)}
    return None


def _container(value: Any, kind: type) -> dict[str, Any]:
    exact = is_one_of(kind, list, tuple, dict, set, frozenset)
    base: Any = next(b for b in (list, tuple, dict, set, frozenset) if is_a(value, b))
    described: dict[str, Any] = {"t": short_name(base) if exact else "object", "len": base.__len__(value)}
    if base is dict:
        keys = [k for k in list(dict.keys(value))[:MAX_KEYS] if is_one_of(type(k), str, int, bool)]
        described["keys"] = [k[:MAX_TEXT] if type(k) is str else k for k in keys]
    return described


def _function(value: Any) -> dict[str, Any]:
    function = value.__func__ if type(value) is types.MethodType else value
    if type(function) is not types.FunctionType:
        return {}
    code = function.__code__
    return {"name": function.__qualname__[:MAX_TEXT], "at": [code.co_filename, code.co_firstlineno]}


def _member(value: Any, kind: type) -> dict[str, Any]:
    held = instance_dict(value)
    name = None if held is None else item_of_dict(held, "_name_")
    return {"t": "enum", "v": f"{short_name(kind)}.{name}"} if type(name) is str else {}


def tensor_layout(value: Any) -> dict[str, Any]:
    """A tensor's metadata. Reads no element, so it never waits for a device. Raises UnreadableError.

    A subclass may answer ``size()`` in Python; only the base class is asked. Sizes a subclass computes on
    dispatch are left out.
    """
    import torch

    if not is_a(value, torch.Tensor):
        raise UnreadableError(f"layout of a {short_name(type(value))}")
    base: Any = torch._C.TensorBase
    with torch._C.DisableTorchFunctionSubclass():
        layout = {
            "dtype": str(base.dtype.__get__(value)).removeprefix("torch."),
            "device": str(base.device.__get__(value)),
            "requires_grad": bool(base.requires_grad.__get__(value)),
            "type": short_name(type(value)),
            "keys": str(_effective_keys(value)),
        }
        if _sizes_are_its_own(value):
            layout["size"] = _plain_sizes(base.size(value))
            if base.layout.__get__(value) == torch.strided:
                layout["stride"] = _plain_sizes(base.stride(value))
        return layout


def _sizes_are_its_own(value: Any) -> bool:
    import torch

    if is_one_of(type(value), torch.Tensor, torch.nn.Parameter):
        return True
    return not torch._C._dispatch_keys(value).has(torch._C.DispatchKey.Python)


def _plain_sizes(sizes: Any) -> list[int | str]:
    """``int()`` of a symbolic size would specialize the program that is being traced."""
    return [n if type(n) is int else str(n) for n in sizes]


def _effective_keys(value: Any) -> Any:
    """The keys a guard compares: the tensor's, with those this thread turns on and off (autocast, …)."""
    import torch

    keys = torch._C._dispatch_keys(value) | torch._C._dispatch_tls_local_include_set()
    return keys - torch._C._dispatch_tls_local_exclude_set()
