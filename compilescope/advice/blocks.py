"""One graph that holds many copies of a block: compiling the block once is enough."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving, Severity
from compilescope.advice.of_frame import with_saving
from compilescope.analysis.paths import called
from compilescope.analysis.report import Graph

_BLOCKS, _BLOCK_COMPILE_S, _LONG_COMPILE_S = 4, 20.0, 60.0
_LAYER = re.compile(r"_modules\['(\d+)'\](.*)")


def repeated_blocks(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """One graph holds many copies of the same block: compiling the block once is enough."""
    for graph in facts.report.graphs:
        copies = _copies(graph)
        if copies < _BLOCKS or (graph.compile_s or 0.0) < _BLOCK_COMPILE_S or graph.backward:
            continue
        spent = graph.compile_s or 0.0
        share = 1.0 - 1.0 / copies
        telling = Telling(
            rule="same_block_compiled_many_times",
            fix_kind="regional_compilation",
            summary=f"{called(graph.function)}: one graph holds {copies} copies of the same block",
            fix="compile the block instead of the model: for block in model.layers: block.compile()",
            subject="blocks",
            confidence="medium",
            could_be_wrong="work that spans blocks is no longer fused, and each block has a call of its own",
        )
        place = Place(graph.file, graph.line, graph.function)
        wall = facts.report.recording.wall_s or spent
        severity: Severity = "medium" if spent >= _LONG_COMPILE_S and spent >= 0.2 * wall else "note"
        found = finding(facts, Cause(), place, telling, severity)
        basis = f"estimated: {spent:.0f} s for {copies} copies, shared evenly"
        cost = {"compile_s": Amount(spent, "measured", f"compile of graph {graph.compile_id}")}
        yield with_saving(with_cost(found, cost), Saving(round(spent * share, 1), 0.0, basis))


def _copies(graph: Graph) -> int:
    """Layers whose parameters have the same names and shapes, by their place in a ModuleList."""
    layers: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for placeholder in graph.placeholders:
        found = _LAYER.search(placeholder.source or "")
        if found:
            layers[found[1]].add((found[2], str(placeholder.shape)))
    alike = Counter(frozenset(parameters) for parameters in layers.values() if len(parameters) > 1)
    return max(alike.values(), default=0)
