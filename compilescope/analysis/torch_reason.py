"""Torch's own one-line reasons, such as ``0/1: tensor 'x' size mismatch at index 0. expected 3, actual 4``.

They name the first failing guard only and, except for tensors, only the old value: the fallback where the
guards were not checked again, and the record of which cause torch's message put forward.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from compilescope.analysis import global_state
from compilescope.analysis.change import Change
from compilescope.analysis.tensor_guard import dispatch_keys, size_kind
from compilescope.model.clipped import clipped

_ENTRY = re.compile(r"^(?:!?\d+/)?\d+/\d+: ")
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "ComplexHalf": "complex32",
}
Read = Callable[[re.Match[str], Mapping[str, Any]], list[Change]]


def entry_of(reason: str) -> str | None:
    """The cache entry a reason speaks of: "0/1"."""
    match = _ENTRY.match(reason)
    return match.group(0)[:-2] if match else None


def message_of(reason: str) -> str:
    return _ENTRY.sub("", reason, count=1)


def read(message: str, state: Mapping[str, Any]) -> list[Change] | None:
    """Changes a message states in words; None when the message is guard code instead."""
    found = _matched(message)
    return None if found is None else found[1](found[0], state)


@lru_cache(maxsize=1 << 12)  # of an entry torch says the same each time that it fails
def _matched(message: str) -> tuple[re.Match[str], Read] | None:
    for pattern, reader in _PATTERNS:
        match = pattern.match(message)
        if match:
            return match, reader
    return None


def _size(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    old, new = _number(m["old"]), _number(m["new"])
    kind = size_kind(old, new) if m["what"] == "size" else m["what"]
    dim = "dim" if m["what"] == "size" else "stride dim"
    return [Change(kind, f"{m['source']} {dim} {m['index']}", old, new, from_tensor=True)]


def _rank(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    return [Change("rank", m["source"], _number(m["old"]), _number(m["new"]), from_tensor=True)]


def _dtype(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    old, new = (_DTYPES.get(m[name], m[name]) for name in ("old", "new"))
    return [Change("dtype", m["source"], old, new, from_tensor=True)]


def _keys(m: re.Match[str], state: Mapping[str, Any]) -> list[Change]:
    return [dispatch_keys(m["source"], m["old"], m["new"], state)]


def _requires_grad(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    old = m["old"] == "1"
    return [Change("requires_grad", m["source"], old, not old, from_tensor=True)]


def _device(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    return [Change("device", m["source"], _number(m["old"]), _number(m["new"]), from_tensor=True)]


def _tensor_type(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    found = m["new"].rpartition(".")[2]
    if found == "NoneType":
        return [Change("value", m["source"], "Tensor", None, value_type="none")]
    return [Change("type", m["source"], "Tensor", found)]


def _state(m: re.Match[str], state: Mapping[str, Any]) -> list[Change]:
    return global_state.from_words(m["what"], state)


def _backend(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    return [Change("backend", "backend of torch.compile", _short(m["old"]), _short(m["new"]))]


def _freed(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    return [Change("identity", m["source"], "one object", "another: the first was freed")]


def _aliases(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    names = " and ".join(re.findall(r'"([^"]+)"', m["what"])) or "two tensors"
    return [Change("identity", names, "different tensors", "the same tensor")]


def _marked(_: re.Match[str], __: Mapping[str, Any]) -> list[Change]:
    return [Change("constraint", "dynamic marks of a tensor", None, None, new_known=False)]


def _other_type(m: re.Match[str], _: Mapping[str, Any]) -> list[Change]:
    return [Change("type", m["source"], None, None, new_known=False)]


def _held(_: re.Match[str], __: Mapping[str, Any]) -> list[Change]:
    """Torch's words for an entry that fits the call: another thread made it while this one waited."""
    return [Change("none_failed", "no guard", None, None)]


def _modes(_: re.Match[str], __: Mapping[str, Any]) -> list[Change]:
    change = Change(
        "other",
        "torch function modes",
        None,
        None,
        detail="such as `with torch.device(...)`",
        new_known=False,
    )
    return [change]


def _pattern(text: str, reader: Read) -> tuple[re.Pattern[str], Read]:
    return re.compile(text, re.DOTALL), reader


_HELD = r"Unexpected recompilation: runtime guards failed even though they passed"
_TENSOR = r"tensor '(?P<source>.+?)' "
_PATTERNS = (
    _pattern(r"Cache line invalidated because (?:L\[')?(?P<source>[^\s']+)(?:'\])? got deallocated", _freed),
    _pattern(
        _TENSOR
        + r"(?P<what>size|stride) mismatch at index (?P<index>\d+)\. "
        + r"expected (?P<old>\S+), actual (?P<new>-?\w+)",
        _size,
    ),
    _pattern(_TENSOR + r"rank mismatch\. expected (?P<old>\d+), actual (?P<new>\d+)", _rank),
    _pattern(_TENSOR + r"dtype mismatch\. expected (?P<old>\w+), actual (?P<new>\w+)", _dtype),
    _pattern(
        _TENSOR + r"dispatch key set mismatch\. expected (?P<old>\w+\([^)]*\)), actual (?P<new>\w+\([^)]*\))",
        _keys,
    ),
    _pattern(_TENSOR + r"requires_grad mismatch\. expected requires_grad=(?P<old>[01])", _requires_grad),
    _pattern(
        _TENSOR
        + r"(?:Tensor )?device index mismatch[.,]\s*"
        + r"[Ee]xpected(?: device index to be)? (?P<old>-?\d+), actual (?P<new>-?\d+)",
        _device,
    ),
    _pattern(
        r"expected type of '(?P<source>.+?)' to be a tensor type, '? ?but found <class '(?P<new>[^']+)'>",
        _tensor_type,
    ),
    _pattern(r"GLOBAL_STATE changed:(?P<what>[^\n]*)", _state),
    _pattern(
        r"BACKEND_MATCH failure.*?Cached backend: (?P<old>.+?) \(id=.*?New backend: (?P<new>.+?) \(id=",
        _backend,
    ),
    _pattern(r"Duplicate tensors? found:(?P<what>[^\n]*)", _aliases),
    _pattern(r"_\w+ is (?:present|absent) on runtime tensor", _marked),
    _pattern(r"TYPE_MISMATCH\((?P<source>.+)\)", _other_type),
    _pattern(r"___check_torch_function_mode_stack\(\)", _modes),
    _pattern(_HELD, _held),
)


def _short(backend: str) -> str:
    """``_TorchCompileWrapper(compiler='eager', dynamic=None)`` as ``eager, dynamic=None``."""
    match = re.search(r"compiler=(?:'([^']*)'|([^,)]+))(.*)\)$", backend)
    if match is None:
        return clipped(re.sub(r" at 0x[0-9a-f]+", "", backend), 80)
    return clipped((match[1] or match[2]) + re.sub(r" at 0x[0-9a-f]+", "", match[3]), 80)


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
