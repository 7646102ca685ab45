"""Rules for compiles that ended in an error, raised or suppressed."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compilescope.advice.break_words import TENSOR, WORDS
from compilescope.advice.cause import Cause, Place, Telling, finding
from compilescope.advice.diff import Edit, indent_of, unified
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.finding import Finding
from compilescope.advice.rewrites import edit_where
from compilescope.advice.sources import Function, Sources, called_name, calls_in, dotted, parameters
from compilescope.analysis.report import Failure

_NO_FAKE = re.compile(
    r"no fake impl|Missing fake|register_fake|fake tensor call.*NotImplementedError", re.IGNORECASE
)
_OP = re.compile(r"CustomOpDef\(([\w.]+::\w+)\)|\b([\w]+)\.(\w+)\.default")
_PINNED = re.compile(r"marked (.+?) as dynamic but your code specialized it to be a constant \((\d+)\)")
_FULLGRAPH_CAUSES = (
    ("data_dependent_branch", re.compile(r"^Data-dependent branching|data-dependent (?:jump|assert)", re.I)),
    ("scalar_read", re.compile(r"Tensor\.item\(\)|Tensor\.tolist\(\)|\.item\(\) call")),
    ("data_dependent_shape", re.compile(r"Dynamic shape operator|data-dependent|unbacked", re.I)),
    ("print_in_compiled_region", re.compile(r"builtin (?:operator )?`?print\b")),
    ("logging_in_compiled_region", re.compile(r"logging\.Logger")),
    ("numpy_unsupported", re.compile(r"numpy", re.I)),
    ("context_manager_unsupported", re.compile(r"context manager", re.I)),
)


@dataclass(frozen=True, slots=True)
class _Words:
    fix_kind: str
    summary: str
    fix: str
    wrong: str | None = None


_WORDS = {
    "custom_op_missing_fake": _Words(
        "register_fake",
        "the custom op {op} has no fake implementation, so nothing of the function can be compiled",
        "register one beside the op: a function under @op.register_fake that returns an empty tensor "
        "of the right shape and dtype",
        "the shape in the diff is a guess: it must be the shape the op really returns",
    ),
    "dynamic_dim_pinned": _Words(
        "make_partner_broadcast",
        "{dim} was marked dynamic, but the code allows only the size {size}",
        "make the other operand broadcast over that dim (size 1), or leave the mark out",
        "maybe_mark_dynamic or allow_ignore_mark_dynamic silence the error, but the size stays pinned",
    ),
    "fullgraph_violation": _Words(
        "remove_break_or_fullgraph",
        "fullgraph=True turns the first line Dynamo cannot trace into an error",
        "remove the break at this line, or compile without fullgraph=True",
        "fullgraph=True also captures .item() and boolean masks: without it other lines may break",
    ),
    "recompile_limit_raises": _Words(
        "see_guard",
        "fullgraph=True turns the recompile limit into an error",
        "make what changes between calls the same, or data",
    ),
    "suppressed_error": _Words(
        "fix_or_exclude",
        "compiling failed, the error was suppressed, and the function runs eager without a word",
        "turn torch._dynamo.config.suppress_errors off to see the error, then fix the line or leave it out "
        "of the compiled function",
    ),
    "backend_error": _Words(
        "fix_or_exclude",
        "the compiler behind Dynamo failed",
        'check with backend="aot_eager": if that works, the fault is Inductor\'s; leave the operation '
        "out with torch.compiler.disable, or try another torch version",
    ),
    "error_in_compiled_code": _Words(
        "fix_error",
        "the code raises an error while it is traced",
        "run it without torch.compile: if it raises too, the program is at fault",
        "an error only under torch.compile is a limit of Dynamo",
    ),
}
_BACKEND = frozenset(("BackendCompilerFailed", "InductorError", "LoweringException", "CompilationError"))


def failures(facts: Facts, rows: Rows) -> Iterator[Finding]:
    groups: dict[tuple[str, ...], list[Named[Failure]]] = defaultdict(list)
    for named in rows.failures:
        row = named.row
        key = facts.function_key(row.file, row.line, row.function)
        groups[(rule_of(row), row.exception, str(row.line), *key)].append(named)
    for group in groups.values():
        yield _finding(facts, rule_of(group[0].row), group)


def rule_of(row: Failure) -> str:
    if _NO_FAKE.search(row.message):
        return "custom_op_missing_fake"
    if "ConstraintViolation" in row.exception:
        return "dynamic_dim_pinned"
    if row.exception == "FailOnRecompileLimitHit":
        return "recompile_limit_raises"
    if row.suppressed:
        return "suppressed_error"
    if row.exception in _BACKEND or row.phase == "inductor":
        return "backend_error"
    return "fullgraph_violation" if row.exception == "Unsupported" else "error_in_compiled_code"


def _finding(facts: Facts, rule: str, group: Sequence[Named[Failure]]) -> Finding:
    row = group[0].row
    words = _WORDS[rule]
    cause = _fullgraph_cause(row) if rule == "fullgraph_violation" else None
    inner = WORDS[cause] if cause else None
    pinned = _PINNED.search(row.message)
    op = op_of(row)
    summary = words.summary.replace("{op}", op or "called here")
    summary = summary.replace("{dim}", _dim(pinned[1]) if pinned else "a dim")
    summary = summary.replace("{size}", pinned[2] if pinned else "it was first called with")
    if inner:
        summary += f": {inner.summary}"
    telling = Telling(
        rule=rule,
        fix_kind=inner.fix_kind if inner else words.fix_kind,
        summary=f"{row.function or 'a function'}(): {summary}",
        fix=inner.fix if inner else words.fix,
        subject=op or cause or row.exception,
        diff=_diff(facts.sources, rule, cause, row, pinned[2] if pinned else None),
        could_be_wrong=words.wrong,
        notes=tuple(dict.fromkeys(n.row.message for n in group if n.row.message))[:3],
    )
    place = Place(row.file, row.line, row.function, row.code)
    return finding(facts, Cause(failures=tuple(group)), place, telling, "high")


def op_of(row: Failure) -> str | None:
    """``caselab::soft_shrink``"""
    found = _OP.search(row.message) if rule_of(row) == "custom_op_missing_fake" else None
    if not found:
        return None
    return found[1] or f"{found[2]}::{found[3]}"


def _fullgraph_cause(row: Failure) -> str | None:
    return next((slug for slug, pattern in _FULLGRAPH_CAUSES if pattern.search(row.message)), None)


def _dim(source: str) -> str:
    """``L['x'].size()[0]`` -> ``x dim 0``"""
    found = re.fullmatch(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]", source)
    return f"{found[1]} dim {found[2]}" if found else source


def _diff(sources: Sources, rule: str, cause: str | None, row: Failure, size: str | None) -> str | None:
    if rule == "custom_op_missing_fake":
        return _fake(sources, op_of(row))
    if rule == "dynamic_dim_pinned" and size and row.file:
        return _broadcasting(sources, row, size)
    if cause and WORDS[cause].fix_kind == TENSOR:
        edit = edit_where(sources, row.file, row.line)
        return unified(sources, row.file, [edit]) if edit else None
    return None


def _fake(sources: Sources, op: str | None) -> str | None:
    for file in sources.files() if op else ():
        for node in ast.walk(sources.tree(file) or ast.Module([], [])):
            if isinstance(node, ast.FunctionDef) and _registers(node, op):
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


def _fake_after(sources: Sources, file: str, node: ast.FunctionDef, first: str) -> Edit:
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
    line = sources.lines(file)[node.lineno - 1]
    if not line.isascii() or node.end_col_offset is None:
        return None
    text = line[: node.col_offset] + "1" + line[node.end_col_offset :]
    return unified(sources, file, [Edit(node.lineno, node.lineno, [text])])
