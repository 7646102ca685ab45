"""Diffs for recompiles, where the change can be written from the stored source alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from compilescope.advice.classify import attribute_of
from compilescope.advice.diff import Edit, indent_of, unified
from compilescope.advice.sources import Sources, called_name, calls_in, compiled_names, dotted
from compilescope.analysis.report import Recompile

_DIM = re.compile(r" dim (\d+)$")
_POSITION = re.compile(r"^args\[(\d+)\]")


def diff_of(sources: Sources, rule: str, row: Recompile) -> str | None:
    write = _WRITERS.get(rule)
    return write(sources, row) if write else None


def _buffer(sources: Sources, row: Recompile) -> str | None:
    """``self.calls = 0`` in __init__ becomes a buffer. Uses of it may need tensor operations too."""
    owner = sources.class_at(row.file, row.line)
    for node in ast.walk(owner) if owner and row.source.count(".") == 1 else ():
        if not isinstance(node, ast.Assign) or node.lineno != node.end_lineno or len(node.targets) != 1:
            continue
        value = node.value
        is_number = isinstance(value, ast.Constant) and type(value.value) in (int, float)
        is_alone = sources.statements_on(row.file, node.lineno) == 1
        if (
            dotted(node.targets[0]) == row.source
            and isinstance(value, ast.Constant)
            and is_number
            and is_alone
        ):
            indent = indent_of(sources.lines(row.file)[node.lineno - 1])
            start = "torch.zeros(())" if value.value == 0 else f"torch.tensor({float(str(value.value))})"
            text = f'{indent}self.register_buffer("{attribute_of(row)}", {start})'
            return unified(sources, row.file, [Edit(node.lineno, node.lineno, [text])])
    return None


def _tensor_lr(sources: Sources, _row: Recompile) -> str | None:
    for file, call in sources.calls():
        if ".optim." not in f".{called_name(call)}":
            continue
        for keyword in call.keywords:
            if keyword.arg == "lr" and isinstance(keyword.value, ast.Constant):
                return _wrapped(sources, file, keyword.value, "torch.tensor({})")
    return None


def _mark_dynamic(sources: Sources, row: Recompile) -> str | None:
    """A line before the call of the compiled function that marks the dim."""
    dim = _DIM.search(row.source)
    argument = _argument(sources, row)
    if dim is None or not isinstance(argument, ast.Name) or sources.statements_on(row.file, row.line) > 1:
        return None
    indent = indent_of(sources.line(row.file, row.line) or "")
    text = f"{indent}torch._dynamo.mark_dynamic({argument.id}, {dim[1]})"
    return unified(sources, row.file, [Edit(row.line, row.line - 1, [text])])


def _one_layout(sources: Sources, row: Recompile) -> str | None:
    argument = _argument(sources, row)
    if argument is None or "channels_last" not in (row.meaning or ""):
        return None
    return _wrapped(sources, row.file, argument, "{}.contiguous(memory_format=torch.channels_last)")


def _argument(sources: Sources, row: Recompile) -> ast.expr | None:
    """The expression a caller passes for ``args[0]`` at the line of a call of a compiled callable."""
    position = _POSITION.match(row.source)
    statement = sources.statement_at(row.file, row.line)
    if position is None or statement is None:
        return None
    compiled = compiled_names(sources.tree(row.file))
    for call in calls_in(statement):
        number = int(position[1])
        if dotted(call.func) in compiled and number < len(call.args):
            argument = call.args[number]
            return None if isinstance(argument, ast.Starred) else argument
    return None


def _wrapped(sources: Sources, file: str, node: ast.expr, template: str) -> str | None:
    """The line of ``node`` with the expression put into ``template``."""
    line = sources.line(file, node.lineno)
    if line is None or not line.isascii() or node.lineno != node.end_lineno or node.end_col_offset is None:
        return None  # column offsets count bytes
    inner = line[node.col_offset : node.end_col_offset]
    text = line[: node.col_offset] + template.replace("{}", inner) + line[node.end_col_offset :]
    return unified(sources, file, [Edit(node.lineno, node.lineno, [text])])


_WRITERS: dict[str, Callable[[Sources, Recompile], str | None]] = {
    "module_int_attribute": _buffer,
    "module_float_attribute": _buffer,
    "optimizer_lr_float": _tensor_lr,
    "last_partial_batch": _mark_dynamic,
    "size_drift": _mark_dynamic,
    "memory_format_change": _one_layout,
}
