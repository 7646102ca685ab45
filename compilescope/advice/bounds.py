"""A bound on a dynamic size (``2 <= n <= 8``): of a branch in the program, or of torch's own code.

Torch names the line that touched the bound last, which need not be the one that set it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from compilescope.advice.library import is_installed
from compilescope.advice.sources import Sources, dotted, names_in
from compilescope.analysis.report import Recompile

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_CLIPS = frozenset(("min", "max", "range", "torch.sym_min", "torch.sym_max"))
_SIZES = frozenset(("shape", "size", "numel", "len"))
_DIM = re.compile(r" dim \d+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


def rule_of_bound(sources: Sources, row: Recompile) -> str:
    """Torch's own only where the source is known, and no condition in it may have set the bound."""
    function = sources.function_at(row.file, row.line)
    if function is None or " dim " not in row.source or any(_conditions(function)):
        return "branch_on_size"
    others = (other for file, other in sources.functions() if not is_installed(file))
    return "branch_on_size" if any(_may_set(other, row) for other in others) else "size_bound_of_torch"


def line_of_condition(sources: Sources, row: Recompile) -> int | None:
    """Where the function asks about a number, if only one line does."""
    function = sources.function_at(row.file, row.line)
    lines = {node.lineno for node in _conditions(function)} if function else set()
    return lines.pop() if len(lines) == 1 else None


def _conditions(tree: ast.AST) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.expr) and _decides(node))


def _decides(node: ast.expr) -> bool:
    """Where a size can decide: comparisons of values, remainders, least and greatest of two, slices."""
    match node:
        case ast.Compare():
            return any(isinstance(op, _ORDER) for op in node.ops)
        case ast.BinOp():
            return isinstance(node.op, ast.Mod)
        case ast.Call():
            return dotted(node.func) in _CLIPS
        case ast.Slice():
            return node.lower is not None or node.upper is not None
        case _:
            return False


def _may_set(function: ast.AST, row: Recompile) -> bool:
    """A function that the line may call: it looks at a size, and asks about a number at the bound."""
    words = {part for name in names_in(function) for part in name.split(".")}
    numbers = {
        node.value
        for condition in _conditions(function)
        for node in ast.walk(condition)
        if isinstance(node, ast.Constant) and type(node.value) is int
    }
    bounds = {bound for old, new in row.changes for bound in _broken(str(old), new)}
    return bool(words & _SIZES) and any(abs(number - bound) <= 1 for number in numbers for bound in bounds)


def _broken(relation: str, value: object) -> set[int]:
    """8 of ``2 <= x dim 0 <= 8`` for the value 50: the other bound may be torch's own (no size below 2)."""
    bounds = {int(text) for text in _NUMBER.findall(_DIM.sub("", relation))}
    if bounds and isinstance(value, int | float):
        if value > max(bounds):
            return {max(bounds)}
        if value < min(bounds):
            return {min(bounds)}
    return bounds
