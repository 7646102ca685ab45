"""One line of torch's guard code: ``L['t'] == 0   # x = x + pos[t]  # dir/file.py:14 in f (HINT: ...)``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compilescope.model.clipped import clipped

_LOCATION = re.compile(r"#\s*(?P<file>[^#\n]+?):(?P<line>\d+) in (?P<function>[^\s(]+)")
_FREE = re.compile(r'HINT: guard on "([^"]+)"')
_TYPE = re.compile(r"type=<(?:class|enum) '([^']+)'>")
_UNPARSED = re.compile(r"^(?P<left>.+?) == (?P<right><.*>)$")
_LITERALS = (int, float, str, bool, complex, type(None))


@dataclass(frozen=True, slots=True)
class Comment:
    """Where the guarded value was used. ``file`` is cut on the left by torch."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A guard's condition. ``operator`` is "==", "is", "len", "not", "contains", "id", "type" or "other"."""

    text: str  # the condition alone
    operator: str
    source: str | None
    expected: Any
    comment: Comment | None
    free_name: str | None
    type_name: str | None


@lru_cache(maxsize=1 << 12)  # a guard is stated again at each recompile that it causes
def parse(code: str) -> Condition:
    text = condition_of(code)
    rest = code[len(text) :]
    operator, source, expected = _read(text)
    type_name = _TYPE.search(code)
    free = _FREE.search(rest)
    return Condition(
        text,
        operator,
        source,
        expected,
        comment_of(rest),
        free.group(1) if free else None,
        type_name.group(1).rpartition(".")[2] if type_name else None,
    )


def condition_of(code: str) -> str:
    """Everything before torch's comment: the shortest prefix that is Python, since strings may hold a #."""
    head = code.split("\nUser stack trace", 1)[0]
    cuts = [m.start() for m in re.finditer(r"\s+#\s", head)] + [len(head)]
    for cut in cuts:
        candidate = head[:cut].rstrip().removesuffix(",")
        if _parses(candidate) is not None:
            return head[:cut].rstrip()
    return head[: cuts[0]].rstrip()


def comment_of(rest: str) -> Comment | None:
    match = _LOCATION.search(rest.split("\nUser stack trace", 1)[0])
    if match is None:
        return None
    return Comment(match["file"].strip(), int(match["line"]), match["function"])


def literal(node: ast.expr) -> Any:
    """A constant as itself; ``torch.float32`` as "float32"; anything else as its text."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return clipped(ast.unparse(node).removeprefix("torch."), 80)
    if isinstance(value, str):
        return clipped(value, 80)
    return value if isinstance(value, int | float | bool | None) else clipped(ast.unparse(node), 80)


def _parses(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(text: str) -> tuple[str, str | None, Any]:
    tree = _parses(text)
    if isinstance(tree, ast.Tuple):  # "___check_obj_id(x, 1), type=<...>" is cut at the comma
        tree = tree.elts[0]
    if tree is None:
        return _read_unparsed(text)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _negated(tree.operand)
    if isinstance(tree, ast.BoolOp) and "__math_isnan(" in text:
        return "==", text[text.index("__math_isnan(") + len("__math_isnan(") :].split(")", 1)[0], "nan"
    if isinstance(tree, ast.Call):
        return _call(tree)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        return _compare(tree)
    return "other", None, None


def _read_unparsed(text: str) -> tuple[str, str | None, Any]:
    head = text.split(", type=<", 1)[0]
    tree = _parses(head)
    if head != text and isinstance(tree, ast.Call):
        return _call(tree)
    match = _UNPARSED.match(text)
    if match:
        return "==", match["left"], clipped(match["right"], 80)
    return "other", None, None


def _negated(operand: ast.expr) -> tuple[str, str | None, Any]:
    if isinstance(operand, ast.Call):
        operator, source, key = _call(operand)
        return ("lacks" if operator == "contains" else "other"), source, key
    return "len", ast.unparse(operand), 0


def _call(node: ast.Call) -> tuple[str, str | None, Any]:
    name = ast.unparse(node.func)
    arguments = node.args
    if name == "___check_obj_id" and arguments:
        return "id", ast.unparse(arguments[0]), None
    if name == "___check_type_id" and arguments:
        return "type", ast.unparse(arguments[0]), None
    if name == "___dict_contains" and len(arguments) == 2:
        return "contains", ast.unparse(arguments[1]), literal(arguments[0])
    if name.endswith(".__contains__") and len(arguments) == 2:
        return "contains", ast.unparse(arguments[0]), literal(arguments[1])
    return "other", None, None


def _compare(node: ast.Compare) -> tuple[str, str | None, Any]:
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    is_length = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len"
    if is_length and isinstance(operator, ast.Eq | ast.NotEq) and isinstance(left, ast.Call) and left.args:
        return "len", ast.unparse(left.args[0]), literal(right)
    if _is_size(left) or _is_size(right):
        return "other", None, None
    if isinstance(operator, ast.Is | ast.Eq) and isinstance(right, ast.Constant | ast.UnaryOp):
        return "is" if isinstance(operator, ast.Is) else "==", ast.unparse(left), literal(right)
    if isinstance(operator, ast.Is):
        return "same", ast.unparse(left), ast.unparse(right)
    if isinstance(operator, ast.Eq):
        return "==", ast.unparse(left), literal(right)
    return "other", None, None


def _is_size(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):  # a string may hold anything
        return False
    text = ast.unparse(node)
    return ".size()" in text or ".stride()" in text or ".storage_offset()" in text
