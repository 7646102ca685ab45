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
    is_elsewhere = any(_sets(node, row) for node in _of_program(sources))
    return "branch_on_size" if is_elsewhere else "size_bound_of_torch"


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


def _of_program(sources: Sources) -> Iterator[ast.expr]:
    trees = (sources.tree(file) for file in sources.files() if not is_installed(file))
    return (node for tree in trees if tree is not None for node in _conditions(tree))


def _sets(node: ast.expr, row: Recompile) -> bool:
    """A condition elsewhere, in a function that the line may call, on a size and at the bound."""
    words = {part for name in names_in(node) for part in name.split(".")}
    numbers = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) is int}
    bounds = {int(text) for old, _ in row.changes for text in _NUMBER.findall(_DIM.sub("", str(old)))}
    return bool(words & _SIZES) and any(abs(number - bound) <= 1 for number in numbers for bound in bounds)
