"""What stands between a function and one graph: all its broken lines, and what holds a broken line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause
from compilescope.advice.facts import Facts
from compilescope.analysis.paths import called
from compilescope.analysis.report import GraphBreak

_MOST_LINES = 6
_MOST_NAMES = 3
_SKIPPED = ("frame_skipped", "tail_skipped")
_WORDS: tuple[tuple[type[ast.stmt] | tuple[type[ast.stmt], ...], str], ...] = (
    ((ast.Try, ast.TryStar), "try"),
    ((ast.With, ast.AsyncWith), "with"),
    ((ast.For, ast.AsyncFor, ast.While), "loop"),
)


def whole_graph(facts: Facts, own: Sequence[GraphBreak]) -> Iterator[str]:
    """For each compiled function that these lines break: the lines to fix until it is one graph. Functions
    with the same lines (one method of several classes, say) are named together.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for root in dict.fromkeys(root for site in own for root in sorted(facts.roots_of(site))):
        sites = [s for s in facts.report.graph_breaks if root in facts.roots_of(s)]
        if not any(site.library for site in sites):
            names[_what_is_left(sites)].append(called(root[1].rpartition(".")[2]))
    for left, functions in names.items():
        told = list(dict.fromkeys(functions))
        also = f" and {len(told) - _MOST_NAMES} more" if len(told) > _MOST_NAMES else ""
        are = "is one graph" if len(told) == 1 else "are one graph each"
        yield f"{', '.join(told[:_MOST_NAMES])}{also} {are} once {left}"


def _what_is_left(sites: Sequence[GraphBreak]) -> str:
    lines = list(dict.fromkeys(f"{s.file}:{s.line}" for s in sites))
    seen = any(r in _SKIPPED for s in sites for r in s.resume)
    if len(lines) == 1:
        return "this line is fixed" + ("; torch has not looked at what comes after it" if seen else "")
    shown = ", ".join(lines[:_MOST_LINES]) + (" ..." if len(lines) > _MOST_LINES else "")
    doubt = "; torch has not looked at what comes after the first of them" if seen else ""
    return f"these {len(lines)} lines are fixed: {shown}{doubt}"


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
