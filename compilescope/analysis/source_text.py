"""A guard's source expression -> what a person would call it, and what kind of thing holds the value.

``L['self']._modules['l']._parameters['bias']`` is ``self.l.bias``; ``G['STEP']`` is the global ``STEP``;
``probe.__closure__[0].cell_contents`` is the free variable its guard's hint names.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import dataclass

_TABLES = frozenset(("_modules", "_parameters", "_buffers", "__dict__"))
_STACK = "___stack"


@dataclass(frozen=True, slots=True)
class Readable:
    text: str
    holder: (
        str | None
    )  # argument | module_attribute | object_attribute | closure | global | container_item | resume_value
    root: str | None  # the variable the expression starts from, None for a global


def readable(source: str, *, free_name: str | None = None, modules: Set[str] = frozenset()) -> Readable:
    """``source`` in torch's raw form (``L['x'].y``) or the shortened one (``x.y``).

    ``free_name`` is the variable a hint names for a closure cell; ``modules`` are shortened expressions
    known to be nn.Module instances.
    """
    tree = _parse(source)
    if tree is None:
        return Readable(source, None, None)
    if free_name and "cell_contents" in source and source.rstrip().endswith("cell_contents"):
        return Readable(free_name, "closure", _root(tree)[0])
    root, is_global = _root(tree)
    text = _show(tree)
    return Readable(text, _holder(tree, root, is_global, modules), None if is_global else root)


def is_parameter(source: str) -> bool:
    """Of modules that share code each has its own sizes of these; no call brings them."""
    return "._parameters[" in source


def length_of(text: str) -> str:
    return f"len({text})"


def _parse(source: str) -> ast.expr | None:
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _scope_item(node: ast.expr) -> tuple[str, bool] | None:
    """``L['x']`` -> ("x", False); ``G['x']`` -> ("x", True)."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ("L", "G"):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value, node.value.id == "G"
    return None


def _root(node: ast.expr) -> tuple[str | None, bool]:
    found = _scope_item(node)
    if found:
        return found
    if isinstance(node, ast.Name):
        return node.id, False
    if isinstance(node, ast.Attribute | ast.Subscript):
        return _root(node.value)
    if isinstance(node, ast.Call):
        return _root(node.args[0]) if node.args else _root(node.func)
    return None, False


def _show(node: ast.expr) -> str:
    found = _scope_item(node)
    if found:
        return _imported(found[0])
    if isinstance(node, ast.Attribute):
        return f"{_show(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return _show_item(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"{node.func.id}({', '.join(_show(a) for a in node.args)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return f"{_show(node.func)}({', '.join(_show(a) for a in node.args)})"
    return ast.unparse(node)


def _show_item(node: ast.Subscript) -> str:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(node.value, ast.Attribute) and node.value.attr in _TABLES and isinstance(key, str):
        owner = _show(node.value.value)
        return f"{owner}.{key}" if key.isidentifier() else f"{owner}[{key}]"
    return f"{_show(node.value)}[{ast.unparse(node.slice)}]"


def _imported(name: str) -> str:
    """Torch puts modules it imported itself among the globals under a mangled name."""
    return name.removeprefix("__import_").replace("_dot_", ".") if name.startswith("__import_") else name


def _holder(node: ast.expr, root: str | None, is_global: bool, modules: Set[str]) -> str | None:
    if root is None:
        return None
    if root.startswith(_STACK):
        return "resume_value"
    if _scope_item(node) or isinstance(node, ast.Name):
        return "global" if is_global else "argument"
    if isinstance(node, ast.Attribute):
        if node.attr == "cell_contents":
            return "closure"
        return "module_attribute" if _is_module(node.value, modules) else "object_attribute"
    if isinstance(node, ast.Subscript):
        return _item_holder(node, root, is_global, modules)
    if isinstance(node, ast.Call) and node.args:
        return _holder(node.args[0], root, is_global, modules)
    return None


def _item_holder(node: ast.Subscript, root: str, is_global: bool, modules: Set[str]) -> str:
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr in _TABLES:
        in_module = owner.attr != "__dict__" or _is_module(owner.value, modules)
        return "module_attribute" if in_module else "object_attribute"
    if isinstance(owner, ast.Attribute) and owner.attr in ("__defaults__", "__kwdefaults__", "keywords"):
        return "argument"
    is_variadic = root in ("args", "kwargs") and not is_global
    if is_variadic and (_scope_item(owner) or isinstance(owner, ast.Name)):
        return "argument"
    return "container_item"


def _is_module(owner: ast.expr, modules: Set[str]) -> bool:
    if _show(owner) in modules:
        return True
    inner = owner.value if isinstance(owner, ast.Subscript) else None
    return isinstance(inner, ast.Attribute) and inner.attr == "_modules"
