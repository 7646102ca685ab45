"""Operators of the captured graph that a decomposition replaced before Inductor saw the graph.

Where Inductor's scheduler was recorded, each node says which operator it came from. Elsewhere the comments
of the generated code name the original operators of a kernel and its nodes, not which made which: what is
gone is known, what it became only for the kernel as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compilescope.model.inductor.values import Decomposition, FxNode, Kernel, SourceLine

# Inductor lowers these to what they are in its own words; nothing was taken apart.
_SAME = frozenset(
    {
        ("aten.t", "aten.permute"),
        ("aten.transpose", "aten.permute"),
        ("aten._to_copy", "prims.convert_element_type"),
    }
)


def decompositions(kernels: Iterable[Kernel]) -> tuple[Decomposition, ...]:
    """By original operator, most resulting nodes first."""
    kernels = tuple(kernels)
    nodes = {node.name: node for kernel in kernels for node in kernel.nodes}
    if any(node.original for node in nodes.values()):
        found = _by_node(nodes.values())
    else:
        of_kernels = (_of_kernel(kernel) for kernel in kernels)
        found = [decomposition for decomposition in of_kernels if decomposition is not None]
    return tuple(sorted(found, key=lambda d: (-sum(d.became.values()), d.op)))


def _by_node(nodes: Iterable[FxNode]) -> list[Decomposition]:
    became: dict[str, Counter[str]] = {}
    lines: dict[str, dict[SourceLine, None]] = {}
    for node in nodes:
        original, op = base(node.original or ""), base(node.op)
        if not original or original == op or (original, op) in _SAME or op.endswith("getitem>"):
            continue
        became.setdefault(original, Counter())[op] += 1
        if node.line is not None:
            lines.setdefault(original, {})[node.line] = None
    return [Decomposition(op, dict(counts), tuple(lines.get(op, ())), True) for op, counts in became.items()]


def _of_kernel(kernel: Kernel) -> Decomposition | None:
    if not kernel.aten:
        return None
    ops = [base(node.op) for node in kernel.nodes]
    gone = [op for op in dict.fromkeys(map(base, kernel.aten)) if op not in ops]
    new = Counter(op for op in ops if op not in map(base, kernel.aten))
    same = {(op, other) for op in gone for other in new} & _SAME
    gone = [op for op in gone if op not in {original for original, _ in same}]
    return Decomposition(", ".join(gone), dict(new), kernel.lines, len(gone) == 1) if gone and new else None


def base(op: str) -> str:
    """``aten.mul.Tensor`` -> ``aten.mul``."""
    return ".".join(op.split(".")[:2])
