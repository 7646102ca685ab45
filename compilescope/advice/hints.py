"""Torch prints hints with a graph break. Here each is checked against the line before it is repeated."""

from __future__ import annotations

import ast
import re

from compilescope.advice.sources import Sources, called_name, calls_in, names_in
from compilescope.analysis.report import GraphBreak

_CAPTURE = "torch suggests capture_scalar_outputs"
_SWITCH = re.compile(r"torch\._dynamo\.config\.(?P<name>\w+)`?\s*(?:=|to)\s*`?(?P<value>True|False)\b")
_READS = frozenset(("item", "tolist", "int", "float", "bool"))


def check_hint(sources: Sources, site: GraphBreak, *, grows: str | None = None) -> str | None:
    """One sentence on whether torch's hint helps at this site; None when there is nothing to say.

    ``grows`` names a container the same line appends to.
    """
    cause = site.causes[0] if site.causes else ""
    statement = sources.statement_at(site.file, site.line) or _parse_line(site.code)
    if cause in ("print_in_compiled_region", "warning_in_compiled_region"):
        return _reorderable(statement)
    if cause == "logging_in_compiled_region":
        return (
            "torch's hint works if nothing of the log is wanted: "
            "torch._dynamo.config.ignore_logging_functions drops the call from compiled code"
        )
    if cause == "data_dependent_branch":
        return f"{_CAPTURE} in some messages: it does not help here, a Python branch stays a break"
    if cause == "scalar_read":
        return _capture(sources, site, statement, grows)
    if cause == "explicit_graph_break" and site.library:
        return "torch's hint to remove the call does not help: the line is not yours"
    return None


def switch_in(hint: str | None) -> str | None:
    """ "torch._dynamo.config.allow_rnn = True": the setting that a hint of torch's says to change."""
    found = _SWITCH.search(hint or "")
    return f"torch._dynamo.config.{found['name']} = {found['value']}" if found else None


def _reorderable(statement: ast.stmt | None) -> str:
    call = next(calls_in(statement), None)
    name = "torch's hint (torch._dynamo.config.reorderable_logging_functions)"
    bad = next((ast.unparse(a) for a in call.args if _is_size_or_object(a)), None) if call else None
    if bad:
        return f"{name} does not help here: {bad} is neither a tensor nor a constant"
    return f"{name} helps only if every argument is a tensor or a constant; output then comes late"


def _is_size_or_object(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant | ast.Name):
        return False
    last = called_name(node) or ""
    if last.rsplit(".", 1)[-1] in ("size", "tuple", "list", "type", "len", "repr", "str", "format"):
        return True
    if isinstance(node, ast.JoinedStr):
        return any(_is_size_or_object(v.value) for v in node.values if isinstance(v, ast.FormattedValue))
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "device")


def _capture(sources: Sources, site: GraphBreak, statement: ast.stmt | None, grows: str | None) -> str:
    if grows:
        return f"{_CAPTURE}: it removes the break only, {grows} still grows and recompiles"
    if "tolist" in (site.gb_types[0] if site.gb_types else ""):
        return "torch's hint on tolist() helps for integer tensors only"
    used = _python_use(sources, site, statement)
    if used:
        return f"{_CAPTURE}: it removes this break but not {used}"
    return (
        f"{_CAPTURE}: it may keep the graph whole, but the number becomes a symbol that later code may guard"
    )


def _python_use(sources: Sources, site: GraphBreak, statement: ast.stmt | None) -> str | None:
    """Where the number that was read decides something in Python: a branch, a range, an index."""
    if isinstance(statement, ast.If | ast.While):
        return "the branch on the value"
    function = sources.function_at(site.file, site.line)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if function is None or statement is None or not isinstance(target, ast.Name):
        return None
    for node in ast.walk(function):
        if getattr(node, "lineno", 0) <= statement.lineno:
            continue
        if isinstance(node, ast.If | ast.While):
            if target.id in names_in(node.test):
                return f"the branch on {target.id} in line {node.lineno}"
            if calls_in(node.test) and _compares_tensor(node.test):
                return f"the branch in line {node.lineno}"
        if isinstance(node, ast.Call) and called_name(node) == "range" and target.id in names_in(node):
            return f"the loop over range({target.id}) in line {node.lineno}"
    return None


def _compares_tensor(test: ast.expr) -> bool:
    methods = {c.func.attr for c in calls_in(test) if isinstance(c.func, ast.Attribute)}
    return bool(methods & {"sum", "mean", "max", "min", "any", "all", "norm", "abs"})


def _parse_line(code: str | None) -> ast.stmt | None:
    text = (code or "").strip()
    try:
        body = ast.parse(f"{text} pass" if text.endswith(":") else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if body else None
