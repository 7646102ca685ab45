"""Diffs for common breaks: a guarded print, torch.where for an `if`, a value that stays a tensor."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from compilescope.advice.diff import Edit, indent_of
from compilescope.advice.sources import Sources
from compilescope.analysis.report import GraphBreak

_STEP = "    "


def edit_of(sources: Sources, site: GraphBreak) -> Edit | None:
    """The change of one site, where it can be written from the source alone."""
    statement = sources.statement_at(site.file, site.line)
    lines = sources.lines(site.file)
    if statement is None or sources.statements_on(site.file, statement.lineno) > 1:
        return None
    cause = site.causes[0] if site.causes else ""
    if cause.startswith(("print_", "logging_", "warning_")) or cause == "side_effect_io":
        return _guarded(statement, lines)
    if cause == "data_dependent_branch" and isinstance(statement, ast.If):
        return _where(statement, lines)
    if cause == "scalar_read" and _is_computed_with(sources, site, statement):
        return _without_item(statement, lines)
    return None


def edit_where(sources: Sources, file: str | None, line: int | None) -> Edit | None:
    """An `if` on a tensor as torch.where."""
    statement = sources.statement_at(file, line)
    if file is None or not isinstance(statement, ast.If) or sources.statements_on(file, statement.lineno) > 1:
        return None
    return _where(statement, sources.lines(file))


def _guarded(statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    old = lines[first - 1 : last]
    indent = indent_of(old[0])
    return Edit(
        first, last, [f"{indent}if not torch.compiler.is_compiling():", *(_STEP + line for line in old)]
    )


def _where(statement: ast.If, lines: Sequence[str]) -> Edit | None:
    """`if c: x = a` and `if c: x = a else: x = b`, nothing larger."""
    yes = _single_assignment(statement.body)
    no = _single_assignment(statement.orelse) if statement.orelse else None
    if yes is None or (statement.orelse and (no is None or no[0] != yes[0])):
        return None
    name, value = yes
    other = no[1] if no else name
    condition = ast.unparse(statement.test)
    text = f"{indent_of(lines[statement.lineno - 1])}{name} = torch.where({condition}, {value}, {other})"
    return Edit(statement.lineno, statement.end_lineno or statement.lineno, [text])


def _single_assignment(body: list[ast.stmt]) -> tuple[str, str] | None:
    if len(body) != 1:
        return None
    only = body[0]
    if isinstance(only, ast.Assign) and len(only.targets) == 1 and isinstance(only.targets[0], ast.Name):
        return only.targets[0].id, ast.unparse(only.value)
    if isinstance(only, ast.AugAssign) and isinstance(only.target, ast.Name):
        changed = ast.BinOp(ast.Name(only.target.id), only.op, only.value)
        return only.target.id, ast.unparse(changed)
    return None


def _is_computed_with(sources: Sources, site: GraphBreak, statement: ast.stmt) -> bool:
    """Is every use of the value arithmetic, which a tensor does as well? Not an index, a range, a branch."""
    function = sources.function_at(site.file, site.line)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if function is None or not isinstance(target, ast.Name):
        return False
    fine = set()
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp):
            fine |= {id(node.left), id(node.right)}
        if isinstance(node, ast.UnaryOp | ast.AugAssign):
            fine.add(id(node.operand if isinstance(node, ast.UnaryOp) else node.value))
    used = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == target.id]
    return all(isinstance(n.ctx, ast.Store) or id(n) in fine for n in used)


def _without_item(statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    """`peak = y.max().item()` -> `peak = y.max()`."""
    if not isinstance(statement, ast.Assign) or statement.lineno != statement.end_lineno:
        return None
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "item"):
        return None
    line = lines[statement.lineno - 1]
    if not line.isascii() or call.func.value.end_col_offset is None or call.end_col_offset is None:
        return None  # column offsets count bytes
    text = line[: call.func.value.end_col_offset] + line[call.end_col_offset :]
    return Edit(statement.lineno, statement.lineno, [text])
