"""Processes that compile the same function again because the cache key differs."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving
from compilescope.advice.of_frame import with_saving
from compilescope.advice.sources import called_name, calls_in, names_in
from compilescope.analysis.paths import called
from compilescope.analysis.report import Graph

_VARYING = re.compile(
    r"^(?:time\.|random\.|uuid\.|os\.(?:getpid|urandom|times)|secrets\.|datetime\.)|\.now$|\.today$"
)


def cache_misses(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """The same function compiled in several processes, none served from the cache."""
    by_code: dict[tuple[str, int, str], list[Graph]] = defaultdict(list)
    for graph in facts.report.graphs:
        if not graph.backward and graph.cache.get("fx_graph"):
            by_code[(graph.file, graph.line, graph.function)].append(graph)
    for (file, line, function), graphs in by_code.items():
        missed = [g for g in graphs if g.cache["fx_graph"].get("miss") and not g.cache["fx_graph"].get("hit")]
        first = _first_per_process(missed)
        if len(first) < 2 or len(missed) < len(graphs) or len({_shapes(g) for g in first}) > 1:
            continue
        constant = _varying_constant(facts, file, line)
        yield _cache_miss(facts, Place(file, line, function), first, constant)


def _cache_miss(facts: Facts, place: Place, graphs: Sequence[Graph], constant: str | None) -> Finding:
    spent = sum(g.compile_s or 0.0 for g in graphs[1:])
    what = (
        f"{constant} differs from run to run and is compiled in"
        if constant
        else "something in the graph differs"
    )
    telling = Telling(
        rule="cache_key_unstable_constant",
        fix_kind="constant_to_tensor_input",
        summary=f"{called(place.function)}: no process finds another's compiled code in the cache: {what}",
        fix="pass the varying number as a tensor, so that the text of the graph repeats",
        subject=constant or "graph",
        confidence="high" if constant else "low",
        could_be_wrong="processes that started at the same time with an empty cache, or that use different "
        "cache folders, miss without any fault",
        notes=(f"{len(graphs)} processes, all with a cache miss for the same input shapes",),
    )
    found = finding(facts, Cause(), place, telling, "medium" if constant else "note")
    cost = {"compile_s": Amount(round(spent, 6), "measured", "compiles after the first process")}
    return with_saving(
        with_cost(found, cost), Saving(round(spent, 6), 0.0, "measured; a cache hit is not free")
    )


def _first_per_process(graphs: Sequence[Graph]) -> list[Graph]:
    first: dict[str, Graph] = {}
    for graph in graphs:
        first.setdefault(graph.process, graph)
    return list(first.values())


def _shapes(graph: Graph) -> str:
    return str([(p.dtype, p.shape) for p in graph.placeholders])


def _varying_constant(facts: Facts, file: str, line: int) -> str | None:
    """A module-level name made from a clock, a random number or a process id, read in the function."""
    tree, function = facts.sources.tree(file), facts.sources.function_at(file, line)
    read = names_in(function)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and any(
            _VARYING.search(called_name(c) or "") for c in calls_in(node.value)
        ):
            is_tensor = any((called_name(c) or "").startswith("torch.") for c in calls_in(node.value))
            names = {t.id for t in node.targets if isinstance(t, ast.Name)} & read
            if names and not is_tensor:
                return sorted(names)[0]
    return None
