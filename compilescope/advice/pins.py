"""Sizes that code made constants while it was traced: a dynamic mark on one of them is an error."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from compilescope.advice.facts import Facts
from compilescope.advice.sources import Sources
from compilescope.analysis.report import Graph, Recompile, Specialization
from compilescope.analysis.symbolic import describe

_SIZES = frozenset(("size", "symbolic_guard"))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def pin_of(facts: Facts, row: Recompile) -> Specialization | None:
    """The line that fixed a size which torch had made symbolic, in most of the graphs that the row is about.

    In one of several graphs it may be a branch on that size (``if n == 32``): the others stay dynamic.
    """
    if row.kind not in _SIZES or " dim " not in row.source or _is_relation(row):
        return None
    name = row.source.partition(" (result of line")[0]
    own = [facts.forwards.get((row.process, i), ()) for i in row.compile_ids]
    pins = [pin for graphs in own for pin in [_of(name, graphs)] if pin]
    known = sum(bool(graphs) for graphs in own)
    return pins[0] if pins and 2 * len(pins) > known else None


def fixed_somewhere(facts: Facts, row: Recompile) -> Specialization | None:
    """What made the size a constant in any of the graphs, an operand that has to have its size included."""
    name = row.source.partition(" (result of line")[0]
    graphs = (g for i in row.compile_ids for g in facts.forwards.get((row.process, i), ()))
    return next((pin for g in graphs for pin in g.specializations if name in _names(pin.source)), None)


def _of(name: str, graphs: Sequence[Graph]) -> Specialization | None:
    found = [
        pin
        for graph in graphs
        for pin in graph.specializations
        if name in _names(pin.source) and pin.partner is None
    ]
    return min(found, key=lambda pin: pin.line is None, default=None)


def _names(sources: str) -> set[str]:
    """``x dim 1`` of each of ``L['x'].size()[1], L['y'].size()[0]``."""
    return {describe(source)[0] for source in re.split(r", (?=[LG]\[)", sources)}


def _is_relation(row: Recompile) -> bool:
    """``x dim 0 <= 3`` rather than numbers: a branch, which fixes nothing."""
    return any(isinstance(old, str) for old, _ in (*row.changes, *row.blocked_changes))


def is_loop(sources: Sources, pin: Specialization) -> bool:
    """Does the line repeat something as often as the size says?"""
    statement = sources.statement_at(pin.file, pin.line)
    if isinstance(statement, ast.For | ast.While):
        return True
    return statement is not None and any(isinstance(node, _COMPREHENSIONS) for node in ast.walk(statement))
