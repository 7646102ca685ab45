"""Sizes that torch wrote as expressions of symbols: ``s33 + 1``, ``2*s33``, ``(s33//2)``, ``Mod(s33, 8)``.

An input dimension is one where tracing found it tied to another: labels one shorter than their tokens.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

_LONGEST = 200
_LARGEST = 1 << 62
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": max,
    "Min": min,
}


def size_of(size: object, values: Mapping[str, object]) -> int | None:
    """In elements, with ``values`` for the symbols; None where one is missing or the text cannot be read."""
    if isinstance(size, bool) or not isinstance(size, int | str):
        return None
    if isinstance(size, int):
        return size
    if size in values:
        known = values[size]
        return known if isinstance(known, int) and not isinstance(known, bool) else None
    tree = _parsed(size)
    return _value(tree, values) if tree is not None else None


def symbols_of(size: object) -> frozenset[str]:
    """Names in it; none for a number, nor for text that cannot be read."""
    tree = _parsed(size) if isinstance(size, str) else None
    if tree is None:
        return frozenset()
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr | None:
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "1if 2" is no text of torch's, and nobody's to be warned of
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _value(node: ast.expr, values: Mapping[str, object]) -> int | None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool) and number < _LARGEST:
            return number
        case ast.Name(id=name):
            return size_of(values.get(name), {})
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, values)
            return -inner if inner is not None else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _applied(_OPERATORS[type(op)], left, right, values)
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _FUNCTIONS:
            return _applied(_FUNCTIONS[name], left, right, values)
    return None


def _applied(
    function: Callable[[int, int], int], left: ast.expr, right: ast.expr, values: Mapping[str, object]
) -> int | None:
    first, second = _value(left, values), _value(right, values)
    if first is None or second is None:
        return None
    try:
        result = function(first, second)
    except ZeroDivisionError:
        return None
    return result if abs(result) < _LARGEST else None
