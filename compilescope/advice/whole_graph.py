"""What stands between a function and one graph: all its broken lines, and what holds a broken line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause
from compilescope.advice.facts import Facts
from compilescope.analysis.report import GraphBreak

_MOST_LINES = 6
_SKIPPED = ("frame_skipped", "tail_skipped")
_WORDS: tuple[tuple[type[ast.stmt] | tuple[type[ast.stmt], ...], str], ...] = (
    ((ast.Try, ast.TryStar), "try"),
    ((ast.With, ast.AsyncWith), "with"),
    ((ast.For, ast.AsyncFor, ast.While), "loop"),
)


def whole_graph(facts: Facts, own: Sequence[GraphBreak]) -> Iterator[str]:
    """For each compiled function that these lines break: the lines to fix until it is one graph."""
    for root in dict.fromkeys(root for site in own for root in sorted(facts.roots_of(site))):
        sites = [s for s in facts.report.graph_breaks if root in facts.roots_of(s)]
        lines = list(dict.fromkeys(f"{s.file}:{s.line}" for s in sites))
        if any(site.library for site in sites):
            continue
        name = root[1].rpartition(".")[2]
        these = "this line" if len(lines) == 1 else f"these {len(lines)} lines"
        shown = ", ".join(lines[:_MOST_LINES]) + (" ..." if len(lines) > _MOST_LINES else "")
        seen = any(r in _SKIPPED for s in sites for r in s.resume)
        doubt = "; torch has not looked at what comes after the first of them" if seen else ""
        yield f"with {these} fixed, {name}() is one graph: {shown}{doubt}"


def held_open(facts: Facts, cause: Cause) -> Iterator[str]:
    """Dynamo cannot resume inside a `try` or some `with`: then the whole function runs eager."""
    for named in cause.breaks:
        row = named.row
        if not any(outcome in _SKIPPED for outcome in row.resume):
            continue
        for block in reversed(facts.sources.blocks_around(row.file, row.line)):
            word = next((word for kinds, word in _WORDS if isinstance(block, kinds)), None)
            if word is not None:
                yield (
                    f"the line is inside the `{word}` of line {block.lineno}: torch cannot go on there after "
                    "a break, so moving it out of that block helps too"
                )
                break
