"""Recompiles that exist only because of a graph break: they go with it and are no cause of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from compilescope.advice.facts import Facts, Named
from compilescope.advice.sources import called_name, calls_in, parameters
from compilescope.analysis.report import GraphBreak, Recompile

_LAYOUT = frozenset(("size", "size_one", "stride", "rank", "dtype", "requires_grad", "duck_shape"))
_CONTAINER = frozenset(("container_length", "dict_keys"))
_STACK = "___stack"  # torch's name for what lay on Python's stack at the break
_READS = frozenset(("item", "tolist", "int", "float", "bool"))


def byproducts(
    facts: Facts, recompiles: Iterable[Named[Recompile]], sites: Sequence[GraphBreak]
) -> tuple[Named[Recompile], ...]:
    places = {f"{site.file}:{site.line}" for site in sites}
    return tuple(n for n in recompiles if n.row.caused_by in places and _goes_with(facts, n.row, sites))


def grown_container(recompiles: Iterable[Named[Recompile]]) -> str | None:
    """``peaks`` where the length of a container is among the by-products."""
    for named in recompiles:
        if named.row.kind in _CONTAINER:
            return named.row.source.removeprefix("len(").removesuffix(")")
    return None


def _goes_with(facts: Facts, row: Recompile, sites: Sequence[GraphBreak]) -> bool:
    if row.holder == "resume_value" or _STACK in row.source:
        return True
    if row.kind in _LAYOUT:
        return True  # the break made a frame that sees tensors which were inside one graph before
    on_line = any((row.file, row.line) == (site.file, site.line) for site in sites)
    if row.kind in _CONTAINER:
        return on_line
    return row.holder == "argument" and _is_read_value(facts, row, sites)


def _is_read_value(facts: Facts, row: Recompile, sites: Sequence[GraphBreak]) -> bool:
    """A local that was read from a tensor before the break: a resume function gets it as an argument."""
    function = facts.sources.function_at(sites[0].file, sites[0].line)
    if function is None or row.source in parameters(function):
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(_names(t) == row.source for t in node.targets):
            return any((called_name(c) or "").rsplit(".", 1)[-1] in _READS for c in calls_in(node.value))
    return False


def _names(target: ast.expr) -> str | None:
    return target.id if isinstance(target, ast.Name) else None
