"""Diffs for failures: a fake implementation, a buffer that broadcasts, torch.where for an `if`."""

from __future__ import annotations

import ast

from compilescope.advice.break_words import TENSOR, WORDS
from compilescope.advice.diff import Edit, indent_of, unified
from compilescope.advice.rewrites import edit_where
from compilescope.advice.sources import Function, Sources, called_name, calls_in, dotted, parameters
from compilescope.analysis.report import Failure


def diff_of(
    sources: Sources, rule: str, row: Failure, *, op: str | None, cause: str | None, size: str | None
) -> str | None:
    """``op``, ``cause`` and ``size`` are what the message names: the op, the break, the pinned size."""
    if rule == "custom_op_missing_fake":
        return _fake(sources, op)
    if rule == "dynamic_dim_pinned" and size and row.file:
        return _broadcasting(sources, row, size)
    if cause and WORDS[cause].fix_kind == TENSOR:
        edit = edit_where(sources, row.file, row.line)
        return unified(sources, row.file, [edit]) if edit else None
    return None


def _fake(sources: Sources, op: str | None) -> str | None:
    for file, node in sources.functions() if op else ():
        if _registers(node, op):
            first = next(iter(parameters(node)), None)
            if first is None or dotted(node.returns) not in ("torch.Tensor", "Tensor"):
                return None
            return unified(sources, file, [_fake_after(sources, file, node, first)])
    return None


def _registers(function: Function, op: str | None) -> bool:
    return any(
        isinstance(call, ast.Call)
        and (called_name(call) or "").endswith("custom_op")
        and any(isinstance(a, ast.Constant) and a.value == op for a in call.args)
        for call in function.decorator_list
    )


def _fake_after(sources: Sources, file: str, node: Function, first: str) -> Edit:
    indent = indent_of(sources.lines(file)[node.lineno - 1])
    last = node.end_lineno or node.lineno
    body = [
        sources.lines(file)[last - 1],
        "",
        "",
        f"{indent}@{node.name}.register_fake",
        f"{indent}def _({', '.join(parameters(node))}):",
        f"{indent}    return torch.empty_like({first})",
    ]
    return Edit(last, last, body)


def _broadcasting(sources: Sources, row: Failure, size: str) -> str | None:
    """The buffer that is used on the line and was made with the pinned size: size 1 there."""
    statement = sources.statement_at(row.file, row.line)
    used = {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)} if statement else set()
    for call in calls_in(sources.class_at(row.file, row.line)):
        name = call.args[0] if call.args else None
        if not (called_name(call) or "").endswith("register_buffer") or not isinstance(name, ast.Constant):
            continue
        made = call.args[1] if len(call.args) > 1 else None
        if name.value in used and isinstance(made, ast.Call) and made.args:
            first = made.args[0]
            if isinstance(first, ast.Constant) and str(first.value) == size and row.file:
                return _ones(sources, row.file, first)
    return None


def _ones(sources: Sources, file: str, node: ast.Constant) -> str | None:
    line = sources.line(file, node.lineno)
    if line is None or not line.isascii() or node.end_col_offset is None:
        return None
    text = line[: node.col_offset] + "1" + line[node.end_col_offset :]
    return unified(sources, file, [Edit(node.lineno, node.lineno, [text])])
