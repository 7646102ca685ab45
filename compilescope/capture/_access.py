"""Reading the value a guard looks at, without running a line of the user's code.

A guard's source is an expression such as ``L['self'].layers[0].scale`` or ``G['STEP']``. It is parsed, and
each step is taken only where Python's own machinery answers: instance dictionaries, slots, builtin
containers, tensor metadata. A property, a ``__getattr__``, a user-defined ``__getitem__``, or anything
else that would run user code raises UnreadableError, and the guard is listed as not re-checked.
"""

from __future__ import annotations

import ast
import collections
import types
from typing import Any

from compilescope.capture._inert import (
    MISSING,
    UnreadableError,
    bases,
    class_dict,
    has_on_type,
    instance_dict,
    is_a,
    is_one_of,
    item_of_dict,
    short_name,
    type_attribute,
)
from compilescope.capture._telling import tensor_layout

_CELL = "cell_contents"
_FUNCTION_PARTS = frozenset(
    {"__closure__", "__defaults__", "__kwdefaults__", "__code__", "__func__", "__self__", "__globals__"}
)
_NAMEDTUPLE_FIELD: Any = type(collections.namedtuple("_Pair", "a b").__dict__["a"])
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")

__all__ = ["UnreadableError", "length", "read", "read_node"]


def read(expression: str, local: dict[str, Any], global_: dict[str, Any]) -> Any:
    """The object that a guard source names. Raises UnreadableError."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
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
    value = MISSING
    if is_a(owner, dict):
        value = item_of_dict(owner, key)
    elif is_a(owner, list, tuple) and type(key) is int:
        base: Any = list if is_a(owner, list) else tuple
        value = base.__getitem__(owner, key) if -base.__len__(owner) <= key < base.__len__(owner) else MISSING
    if value is MISSING:
        raise UnreadableError(f"no plain item of a {short_name(type(owner))}")
    return value


def _attribute(owner: Any, name: str) -> Any:
    kind = type(owner)
    if is_a(owner, type):
        value: Any = _from_class(owner, name)
    elif name == "__dict__":
        value = instance_dict(owner)
        value = MISSING if value is None else value
    elif kind is types.CellType and name == _CELL:
        value = _cell(owner)
    elif kind is types.MethodType:
        value = _from_method(owner, name)
    elif kind is types.FunctionType and name in _FUNCTION_PARTS:
        value = getattr(owner, name)
    else:
        value = _from_instance(owner, name)
    if value is MISSING:
        raise UnreadableError(f"no plain attribute {name}")
    return value


def _from_class(owner: type, name: str) -> Any:
    if name == "__dict__":
        return class_dict(owner)
    return bases(owner) if name == "__mro__" else type_attribute(owner, name)


def _from_method(owner: types.MethodType, name: str) -> Any:
    """A method hands every other name on to what it wraps, which may be any object."""
    if name in ("__func__", "__self__"):
        return getattr(owner, name)
    function = owner.__func__
    return (
        getattr(function, name)
        if type(function) is types.FunctionType and name in _FUNCTION_PARTS
        else MISSING
    )


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise UnreadableError("empty cell") from None


def _from_instance(owner: Any, name: str) -> Any:
    """As Python would find it, stopping where a descriptor written in Python would run."""
    on_type = type_attribute(type(owner), name)
    if is_one_of(type(on_type), types.MemberDescriptorType, _NAMEDTUPLE_FIELD):
        try:
            return on_type.__get__(owner, type(owner))
        except AttributeError:
            return MISSING
    if on_type is not MISSING and has_on_type(on_type, "__set__"):
        raise UnreadableError(f"{name} is a descriptor")
    held = instance_dict(owner)
    value = MISSING if held is None else item_of_dict(held, name)
    if value is not MISSING:
        return value
    if on_type is not MISSING:
        if has_on_type(on_type, "__get__"):
            raise UnreadableError(f"{name} is a descriptor")
        return on_type
    return _from_module_tables(owner, held, name)


def _from_module_tables(owner: Any, held: dict[str, Any] | None, name: str) -> Any:
    """nn.Module keeps parameters, buffers and submodules behind its ``__getattr__``."""
    import torch

    if held is None or not is_a(owner, torch.nn.Module):
        return MISSING
    for table_name in _MODULE_TABLES:
        table = item_of_dict(held, table_name)
        if is_a(table, dict):
            value = item_of_dict(table, name)
            if value is not MISSING:
                return value
    return MISSING


def _call(node: ast.Call, scope: dict[str, Any]) -> Any:
    """``len(x)``, ``type(x)``, ``x.size()``, ``list(dict.keys(x))``: the calls torch writes into sources."""
    function = node.func
    if isinstance(function, ast.Name) and len(node.args) == 1:
        if function.id == "len":
            return length(read_node(node.args[0], scope))
        if function.id == "type":
            return type(read_node(node.args[0], scope))
        if function.id == "list":
            return _keys(node.args[0], scope)
    if isinstance(function, ast.Attribute) and not node.args and function.attr in ("size", "stride"):
        layout = tensor_layout(read_node(function.value, scope))
        if function.attr in layout:
            return layout[function.attr]
    raise UnreadableError("a call")


def _keys(node: ast.expr, scope: dict[str, Any]) -> list[Any]:
    """``list(dict.keys(x))``, the only list torch makes in a source."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict.keys" and len(node.args) == 1:
        owner = read_node(node.args[0], scope)
        if is_a(owner, dict):
            return list(dict.keys(owner))
    raise UnreadableError("a call")


def length(value: Any) -> int:
    """``len`` of a builtin container, past any subclass's own ``__len__``. Raises UnreadableError."""
    kinds: tuple[Any, ...] = (list, tuple, dict, set, frozenset, str, bytes)
    for kind in kinds:
        if is_a(value, kind):
            return int(kind.__len__(value))
    raise UnreadableError(f"len of a {short_name(type(value))}")
