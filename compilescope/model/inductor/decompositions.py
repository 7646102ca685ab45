"""Operators of the captured graph that a decomposition replaced before Inductor saw the graph.

Where Inductor's scheduler was recorded, each node says which operator it came from. Elsewhere the comments
of the generated code name the original operators of a kernel and its nodes, not which made which: what is
gone is known, what it became only for the kernel as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from compilescope.model.inductor.aot import is_view
from compilescope.model.inductor.values import Decomposition, FxNode, Kernel, SourceLine

_SAME = frozenset({("aten._to_copy", "prims.convert_element_type")})  # another word for it, not parts of it


def decompositions(kernels: Iterable[Kernel]) -> tuple[Decomposition, ...]:
    """By original operator, most resulting nodes first."""
    kernels = tuple(kernels)
    nodes = {node.name: node for kernel in kernels for node in kernel.nodes}
    if any(node.original for node in nodes.values()):
        found = _by_node(nodes.values())
    else:
        of_kernels = (_of_kernel(kernel) for kernel in kernels)
        found = _merged(decomposition for decomposition in of_kernels if decomposition is not None)
    return tuple(sorted(found, key=lambda d: (-sum(d.became.values()), d.op)))


def _by_node(nodes: Iterable[FxNode]) -> list[Decomposition]:
    became: dict[str, Counter[str]] = {}
    lines: dict[str, dict[SourceLine, None]] = {}
    for node in nodes:
        original, op = base(node.original or ""), base(node.op)
        if not original or original == op or (original, op) in _SAME or _is_no_work(op):
            continue
        became.setdefault(original, Counter())[op] += 1
        if node.line is not None:
            lines.setdefault(original, {})[node.line] = None
    return [Decomposition(op, dict(counts), tuple(lines.get(op, ())), True) for op, counts in became.items()]


def _of_kernel(kernel: Kernel) -> Decomposition | None:
    if not kernel.aten:
        return None
    ops = [op for node in kernel.nodes if not _is_no_work(op := base(node.op))]
    before = [op for op in dict.fromkeys(map(base, kernel.aten)) if not _is_no_work(op)]
    same = {pair for pair in _SAME if pair[0] in before and pair[1] in ops}
    gone = [op for op in before if op not in ops and op not in {pair[0] for pair in same}]
    new = Counter(op for op in ops if op not in before and op not in {pair[1] for pair in same})
    return Decomposition(", ".join(gone), dict(new), kernel.lines, len(gone) == 1) if gone and new else None


def _merged(decompositions: Iterable[Decomposition]) -> list[Decomposition]:
    """Of the same operators in several kernels, one."""
    alike: dict[tuple[str, bool], Decomposition] = {}
    for one in decompositions:
        known = alike.get((one.op, one.exact))
        if known is not None:
            became = dict(Counter(known.became) + Counter(one.became))
            one = replace(known, became=became, lines=tuple(dict.fromkeys((*known.lines, *one.lines))))
        alike[one.op, one.exact] = one
    return list(alike.values())


def _is_no_work(op: str) -> bool:
    """Views and parts of a result: what they become says nothing about the graph."""
    return is_view(op) or op.endswith("getitem>")


def base(op: str) -> str:
    """``aten.mul.Tensor`` -> ``aten.mul``."""
    return ".".join(op.split(".")[:2])
