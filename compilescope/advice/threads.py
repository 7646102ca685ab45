"""Do several threads run the code that calls a compiled function?"""

from __future__ import annotations

import ast

from compilescope.advice.facts import Facts
from compilescope.advice.sources import Sources, called_name, dotted
from compilescope.analysis.report import Recompile


def in_another_thread(facts: Facts, row: Recompile) -> bool:
    """By the threads that compiled; where they read the same, by what the source starts as threads.

    The system gives the ident of a thread that ended to the next one, so equal threads prove nothing.
    """
    if known_to_differ(facts, row):
        return True
    return _is_started_often(facts.sources, (row.called_from or "").rpartition(" ")[2])


def known_to_differ(facts: Facts, row: Recompile) -> bool:
    """Was this recompile in another thread than the first compile of its function?"""
    if not row.compile_ids:
        return False
    own = facts.threads.get((row.process, row.compile_ids[0]))
    first = facts.threads.get((row.process, row.compile_ids[0].rsplit("/", 1)[0] + "/0"))
    return own is not None and first is not None and own != first


def _is_started_often(sources: Sources, function: str) -> bool:
    """``Thread(target=function)`` in a loop or at two places, or a pool that runs it."""
    starts = 0
    for file, call in sources.calls():
        name = (called_name(call) or "").rsplit(".", 1)[-1]
        if name in ("submit", "map") and function in {dotted(a) for a in call.args[:1]}:
            return True
        targets = {dotted(k.value) for k in call.keywords if k.arg == "target"}
        if name == "Thread" and function in targets:
            starts += 2 if _is_in_loop(sources, file, call) else 1
    return starts > 1


def _is_in_loop(sources: Sources, file: str, call: ast.Call) -> bool:
    loops = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
    return any(
        node.lineno <= call.lineno <= (node.end_lineno or node.lineno)
        for node in ast.walk(sources.tree(file) or ast.Module([], []))
        if isinstance(node, loops)
    )
