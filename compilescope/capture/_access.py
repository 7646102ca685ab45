"""Reading the value a guard looks at, without running a line of the user's code.

A guard's source is an expression such as ``L['self'].layers[0].scale`` or ``G['STEP']``. It is parsed, and
each step is taken only where Python's own machinery answers: instance dictionaries, slots, exact
containers, tensor metadata. A property, a ``__getattr__``, a user-defined ``__getitem__``, or anything
else that would run user code raises UnreadableError, and the guard is listed as not re-checked.
"""

from __future__ import annotations

import ast
import types
from typing import Any

MAX_TEXT = 80
MAX_KEYS = 50
_CELL = "cell_contents"
_FUNCTION_PARTS = frozenset(
    {"__closure__", "__defaults__", "__kwdefaults__", "__code__", "__func__", "__self__", "__globals__"}
)
_MISSING = object()


class UnreadableError(Exception):
    """The value cannot be read without running user code, or is not there."""


def read(expression: str, local: dict[str, Any], global_: dict[str, Any]) -> Any:
    """The object that a guard source names. Raises UnreadableError."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnreadableError(f"not an expression: {type(error).__name__}") from None
    return read_node(tree, {"L": local, "G": global_})


def read_node(node: ast.expr, scope: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name) and node.id in scope:
        return scope[node.id]
    if isinstance(node, ast.Subscript):
        return _item(read_node(node.value, scope), _constant(node.slice))
    if isinstance(node, ast.Attribute):
        return _attribute(read_node(node.value, scope), node.attr)
    if isinstance(node, ast.Call):
        return _call(node, scope)
    raise UnreadableError(type(node).__name__)


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        raise UnreadableError("subscript is not a constant") from None


def _item(owner: Any, key: Any) -> Any:
    try:
        if isinstance(owner, dict):
            return dict.__getitem__(owner, key)
        if isinstance(owner, list):
            return list.__getitem__(owner, key)
        if isinstance(owner, tuple):
            return tuple.__getitem__(owner, key)
        if type(owner) is types.MappingProxyType:
            return owner[key]
    except (KeyError, IndexError, TypeError):
        raise UnreadableError("no such item") from None
    raise UnreadableError(f"item of a {type(owner).__name__}")


def _attribute(owner: Any, name: str) -> Any:
    if name == "__dict__":
        return _instance_dict(owner)
    if isinstance(owner, types.ModuleType):
        value = vars(owner).get(name, _MISSING)
    elif isinstance(owner, types.CellType) and name == _CELL:
        return _cell(owner)
    elif isinstance(owner, types.FunctionType | types.MethodType) and name in _FUNCTION_PARTS:
        return getattr(owner, name)
    elif isinstance(owner, type):
        value = _from_type(owner, name)
    else:
        value = _from_instance(owner, name)
    if value is _MISSING:
        raise UnreadableError(f"no plain attribute {name}")
    return value


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise UnreadableError("empty cell") from None


def _instance_dict(owner: Any) -> Any:
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        raise UnreadableError("no __dict__") from None


def _from_instance(owner: Any, name: str) -> Any:
    """As Python would find it, stopping where a descriptor written in Python would run."""
    on_type = _from_type(type(owner), name)
    if isinstance(on_type, types.MemberDescriptorType):  # a slot
        try:
            return on_type.__get__(owner, type(owner))
        except AttributeError:
            return _MISSING
    if on_type is not _MISSING and hasattr(type(on_type), "__set__"):
        raise UnreadableError(f"{name} is a descriptor")
    try:
        held = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        held = {}
    if isinstance(held, dict) and dict.__contains__(held, name):
        return dict.__getitem__(held, name)
    for table in ("_parameters", "_buffers", "_modules"):  # nn.Module keeps these behind __getattr__
        inner = held.get(table) if isinstance(held, dict) else None
        if isinstance(inner, dict) and dict.__contains__(inner, name):
            return dict.__getitem__(inner, name)
    if on_type is not _MISSING and hasattr(type(on_type), "__get__"):
        raise UnreadableError(f"{name} is a descriptor")
    return on_type


def _from_type(owner: type, name: str) -> Any:
    for base in type.__getattribute__(owner, "__mro__"):
        held = type.__getattribute__(base, "__dict__")
        if name in held:
            return held[name]
    return _MISSING


def _call(node: ast.Call, scope: dict[str, Any]) -> Any:
    """``len(x)``, ``x.size()``, ``x.stride()``, ``dict.keys(x)``: the calls torch writes into sources."""
    function = node.func
    if isinstance(function, ast.Name) and len(node.args) == 1:
        if function.id == "len":
            return length(read_node(node.args[0], scope))
        if function.id == "type":
            return type(read_node(node.args[0], scope))
        if function.id == "list":
            return _keys(node.args[0], scope)
    if isinstance(function, ast.Attribute) and not node.args and function.attr in ("size", "stride"):
        return tensor_layout(read_node(function.value, scope))[function.attr]
    raise UnreadableError("a call")


def _keys(node: ast.expr, scope: dict[str, Any]) -> list[Any]:
    """``list(dict.keys(x))``, the only list torch makes in a source."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict.keys" and len(node.args) == 1:
        owner = read_node(node.args[0], scope)
        if isinstance(owner, dict):
            return list(dict.keys(owner))
    raise UnreadableError("a call")


def length(value: Any) -> int:
    """``len`` of a builtin container, past any subclass's own ``__len__``."""
    kinds: tuple[Any, ...] = (list, tuple, dict, set, frozenset, str, bytes)
    for kind in kinds:
        if isinstance(value, kind):
            return int(kind.__len__(value))
    raise UnreadableError(f"len of a {type(value).__name__}")


def tensor_layout(value: Any) -> dict[str, Any]:
    """A tensor's metadata. Reads no element, so it never waits for a device."""
    import torch

    if not isinstance(value, torch.Tensor):
        raise UnreadableError(f"layout of a {type(value).__name__}")
    with torch._C.DisableTorchFunctionSubclass():
        layout = {
            "size": [int(n) for n in value.size()],
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "requires_grad": bool(value.requires_grad),
            "type": type(value).__name__,
            "keys": str(_effective_keys(value)),
        }
        if value.layout == torch.strided:
            layout["stride"] = [int(n) for n in value.stride()]
        return layout


def _effective_keys(value: Any) -> Any:
    """The keys a guard compares: the tensor's, with those this thread turns on and off (autocast, …)."""
    import torch

    keys = torch._C._dispatch_keys(value) | torch._C._dispatch_tls_local_include_set()
    return keys - torch._C._dispatch_tls_local_exclude_set()


def told(value: Any) -> dict[str, Any]:
    """A value as the recording tells it: exact builtin and torch scalar types only, never a user's repr."""
    import torch

    kind = type(value)
    if value is None:
        return {"t": "none", "v": None}
    if kind in (bool, int, float):
        return {
            "t": kind.__name__,
            "v": value if kind is not int or abs(value) < 2**63 else str(value)[:MAX_TEXT],
        }
    if kind is str:
        return {"t": "str", "v": value[:MAX_TEXT]}
    if kind in (torch.dtype, torch.device, torch.layout, torch.memory_format):
        return {"t": kind.__name__, "v": str(value)}
    if isinstance(value, torch.Tensor):
        return {"t": "tensor", "v": tensor_layout(value)}
    if isinstance(value, torch.Size):
        return {"t": "size", "v": [int(n) for n in value]}
    told_: dict[str, Any] = {"t": "object", "v": f"{kind.__module__}.{kind.__qualname__}"}
    if isinstance(value, list | tuple | dict | set | frozenset):
        told_ |= _container(value)
    elif isinstance(value, type | types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        told_["name"] = str(getattr(value, "__qualname__", kind.__name__))[:MAX_TEXT]
        code = getattr(value, "__code__", None)
        if code is not None:
            told_["at"] = [code.co_filename, code.co_firstlineno]
    elif _is_enum(kind):
        told_ |= {"t": "enum", "v": f"{kind.__qualname__}.{object.__getattribute__(value, '_name_')}"}
    return told_


def _container(value: Any) -> dict[str, Any]:
    kind = type(value)
    exact = kind in (list, tuple, dict, set, frozenset)
    described: dict[str, Any] = {"t": kind.__name__ if exact else "object", "len": length(value)}
    if isinstance(value, dict):
        keys = [k for k in list(dict.keys(value))[:MAX_KEYS] if type(k) in (str, int, bool)]
        described["keys"] = [k[:MAX_TEXT] if type(k) is str else k for k in keys]
    return described


def _is_enum(kind: type) -> bool:
    import enum

    return issubclass(kind, enum.Enum)
