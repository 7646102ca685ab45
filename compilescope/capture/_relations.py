"""Guards written as conditions over several values (``2 <= L['x'].size()[0]``, ``L['a'] is L['b']``).

One C++ guard often holds many conditions and only says that one is false. Each is evaluated here over the
values read safely, by a walk over its syntax tree that knows numbers, comparisons and identity, nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from compilescope.capture._access import UnreadableError, read_node
from compilescope.capture._inert import is_a, is_one_of
from compilescope.capture._telling import told

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"max": max, "min": min, "abs": abs, "float": float, "int": int}


def condition_of(part: str) -> str:
    """The condition in a verbose code part, without torch's trailing comment."""
    return part.split("  # ", 1)[0].strip()


def evaluate(part: str, f_locals: dict[str, Any], f_globals: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether one condition holds, and its operands by source text. Raises UnreadableError."""
    operands: dict[str, Any] = {}
    try:
        tree = ast.parse(condition_of(part), mode="eval").body
        holds = _truth(tree, {"L": f_locals, "G": f_globals}, operands)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise UnreadableError(f"not a condition: {type(error).__name__}") from None
    return holds, operands


def duplicates(part: str, f_locals: dict[str, Any], f_globals: dict[str, Any]) -> list[str]:
    """Sources of ``check_no_aliasing(a, b, …)`` that name one and the same tensor. Raises UnreadableError."""
    try:
        call = ast.parse(condition_of(part), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise UnreadableError("not a call") from None
    if not isinstance(call, ast.Call):
        raise UnreadableError("not a call")
    scope = {"L": f_locals, "G": f_globals}
    import torch

    seen: dict[int, str] = {}
    same: list[str] = []
    for argument in call.args:
        value = read_node(argument, scope)
        if not is_a(value, torch.Tensor):
            continue
        source, key = ast.unparse(argument), id(value)
        if key in seen:
            same += [seen[key], source]
        seen.setdefault(key, source)
    return list(dict.fromkeys(same))


def _value(node: ast.expr, scope: dict[str, Any], operands: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Compare):
        return _comparison(node, scope, operands)
    if isinstance(node, ast.BoolOp):
        stop = isinstance(node.op, ast.Or)
        return stop if any(_truth(v, scope, operands) is stop for v in node.values) else not stop
    if isinstance(node, ast.UnaryOp):
        return _unary(node, scope, operands)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _number(node.left, scope, operands), _number(node.right, scope, operands)
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*[_number(a, scope, operands) for a in node.args])
    value = read_node(node, scope)
    operands[ast.unparse(node)] = told(value)
    return value


def _comparison(node: ast.Compare, scope: dict[str, Any], operands: dict[str, Any]) -> bool:
    left = _value(node.left, scope, operands)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = _value(comparator, scope, operands)
        if type(op) not in _COMPARE:
            raise UnreadableError(type(op).__name__)
        if not isinstance(op, ast.Is | ast.IsNot) and not (_plain(left) and _plain(right)):
            raise UnreadableError("comparison of objects")  # their __eq__ is user code
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def _unary(node: ast.UnaryOp, scope: dict[str, Any], operands: dict[str, Any]) -> Any:
    if isinstance(node.op, ast.Not):
        return not _truth(node.operand, scope, operands)
    if isinstance(node.op, ast.USub):
        return -_number(node.operand, scope, operands)
    raise UnreadableError(type(node.op).__name__)


def _truth(node: ast.expr, scope: dict[str, Any], operands: dict[str, Any]) -> bool:
    value = _value(node, scope, operands)
    if not _plain(value):
        raise UnreadableError("truth of an object")
    return bool(value)


def _number(node: ast.expr, scope: dict[str, Any], operands: dict[str, Any]) -> Any:
    value = _value(node, scope, operands)
    if not is_one_of(type(value), bool, int, float):
        raise UnreadableError("not a number")
    return value


def _plain(value: Any) -> bool:
    return value is None or is_one_of(type(value), bool, int, float, str)
