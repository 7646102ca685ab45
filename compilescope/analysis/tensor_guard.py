"""What differs between a tensor guard and the tensor that failed it: every property, not only the first."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compilescope.analysis.change import Change

_AUTOGRAD_MARKS = ("ADInplaceOrView", "Autograd")


@dataclass(frozen=True, slots=True)
class Layout:
    """As a ``check_tensor(...)`` line states it. None: not guarded (a dynamic size is None in its list)."""

    keys: str | None
    dtype: str | None
    device: str | None
    requires_grad: bool | None
    size: tuple[Any, ...] | None
    stride: tuple[Any, ...] | None


def parse_layout(condition: str) -> Layout | None:
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != "check_tensor" or len(tree.args) < 4:
        return None
    named = {k.arg: _value(k.value) for k in tree.keywords}
    return Layout(
        ast.unparse(tree.args[2]),
        ast.unparse(tree.args[3]).removeprefix("torch."),
        None if named.get("device") is None else str(named["device"]),
        named.get("requires_grad"),
        _tuple(named.get("size")),
        _tuple(named.get("stride")),
    )


def differences(source: str, old: Layout, got: Mapping[str, Any], state: Mapping[str, Any]) -> list[Change]:
    """Changes from the guarded layout to ``got`` {dtype, size, stride, requires_grad, device, keys}."""
    found = _properties(source, old, got)
    if not found:
        found = _sizes(source, old, got) or _strides(source, old, got)
    if not found and _differ(_stable(old.keys), _stable(got.get("keys"))):
        found = [_keys(source, str(old.keys), str(got.get("keys")), state)]
    return found


def dispatch_keys(source: str, old: str, new: str, state: Mapping[str, Any]) -> Change:
    """A dispatch key set that differs, in the words of what causes it where that is certain."""
    if _backend_of(old) != _backend_of(new):
        return Change("device", source, _backend_of(old).lower(), _backend_of(new).lower(), from_tensor=True)
    return _keys(source, old, new, state)


def _properties(source: str, old: Layout, got: Mapping[str, Any]) -> list[Change]:
    found = []
    if _differ(old.dtype, got.get("dtype")):
        found.append(Change("dtype", source, old.dtype, got["dtype"], from_tensor=True))
    device = got.get("device")
    if isinstance(device, str) and _device_differs(old, got):
        found.append(Change("device", source, _old_device(old), device, from_tensor=True))
    if _differ(old.requires_grad, got.get("requires_grad")):
        new = got["requires_grad"]
        found.append(Change("requires_grad", source, old.requires_grad, new, from_tensor=True))
    size = got.get("size")
    if old.size is not None and isinstance(size, Sequence) and len(size) != len(old.size):
        found.append(Change("rank", source, len(old.size), len(size), from_tensor=True))
    return found


def _sizes(source: str, old: Layout, got: Mapping[str, Any]) -> list[Change]:
    return [
        Change(size_kind(was, now), f"{source} dim {dim}", was, now, from_tensor=True)
        for dim, was, now in _pairs(old.size, got.get("size"))
    ]


def _strides(source: str, old: Layout, got: Mapping[str, Any]) -> list[Change]:
    """The first stride that differs stands for all: together they are one memory format."""
    pairs = _pairs(old.stride, got.get("stride"))
    if not pairs:
        return []
    dim, was, now = pairs[0]
    before, after = memory_format(old.size, old.stride), memory_format(got.get("size"), got.get("stride"))
    detail = f"{before} -> {after}" if before and after and before != after else None
    return [Change("stride", f"{source} stride dim {dim}", was, now, detail=detail, from_tensor=True)]


def size_kind(_old: Any, new: Any) -> str:
    """Sizes 0 and 1 are always compiled apart, whatever else is dynamic."""
    return "size_one" if new in (0, 1) else "size"


def memory_format(size: Any, stride: Any) -> str | None:
    """ "contiguous", "channels_last", "strided", or None when it cannot be told."""
    if size is None or stride is None or len(size) != len(stride) or any(type(n) is not int for n in size):
        return None
    dims = list(range(len(size)))
    if _fits(size, stride, dims):
        return "contiguous"
    if len(dims) in (4, 5) and _fits(size, stride, [0, *dims[2:], 1]):
        return "channels_last"
    return "strided"


def _fits(size: Sequence[int], stride: Sequence[Any], order: Sequence[int]) -> bool:
    """Whether ``stride`` is dense with the dims laid out in ``order``; dims of size 1 may have any stride."""
    step = 1
    for dim in reversed(order):
        if size[dim] > 1 and stride[dim] is not None and stride[dim] != step:
            return False
        step *= max(size[dim], 1)
    return True


def _pairs(old: Any, new: Any) -> list[tuple[int, Any, Any]]:
    if old is None or not isinstance(new, Sequence) or len(old) != len(new):
        return []
    return [(i, a, b) for i, (a, b) in enumerate(zip(old, new, strict=True)) if a is not None and a != b]


def _keys(source: str, old: str, new: str, state: Mapping[str, Any]) -> Change:
    lost = _marks(old) - _marks(new)
    if lost and state.get("inference_mode"):
        before = "grad" if state.get("had_grad_mode") else "no_grad"
        detail: str | None = "inside torch.inference_mode()"
        return Change("dispatch_keys", source, before, "inference_mode", detail=detail, from_tensor=True)
    detail = "the tensor was made inside torch.inference_mode()" if lost else None
    return Change("dispatch_keys", source, short_keys(old), short_keys(new), detail=detail, from_tensor=True)


def _stable(keys: Any) -> Any:
    """Without autocast's keys: the thread's mode adds them to every tensor, and is guarded by itself."""
    return keys and [key for key in short_keys(str(keys)).split(", ") if not key.startswith("Autocast")]


def short_keys(keys: str) -> str:
    return keys.removeprefix("DispatchKeySet(").removesuffix(")")


def _marks(keys: str) -> set[str]:
    return {k for k in short_keys(keys).split(", ") if k.startswith(_AUTOGRAD_MARKS)}


def _backend_of(keys: str) -> str:
    return short_keys(keys).split(", ")[0]


def _device_differs(old: Layout, got: Mapping[str, Any]) -> bool:
    if old.device is not None:
        index = str(got["device"]).partition(":")[2]
        if index and index != old.device:
            return True
    keys = got.get("keys")
    return bool(old.keys and isinstance(keys, str) and _backend_of(old.keys) != _backend_of(keys))


def _old_device(old: Layout) -> str | None:
    if not old.keys:
        return None
    kind = _backend_of(old.keys).lower()
    return kind if old.device is None else f"{kind}:{old.device}"


def _differ(old: Any, new: Any) -> bool:
    return old is not None and new is not None and old != new


def _tuple(value: Any) -> tuple[Any, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) else None


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
