"""One choice among implementations, as a row of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from compilescope.analysis import lengths
from compilescope.analysis import report_graph as rows
from compilescope.analysis.index import Index
from compilescope.analysis.lengths import few
from compilescope.analysis.lines import line_at
from compilescope.model import Location, inductor
from compilescope.model.inductor import CompiledGraph, kinds
from compilescope.model.inductor.sizes import size

_EMITTED = {
    kinds.TEMPLATE: "triton",
    kinds.CPP_TEMPLATE: "cpp",
    kinds.CUTLASS: "cutlass",
    kinds.GEMM: "extern",
    kinds.CONVOLUTION: "extern",
    kinds.ATTENTION: "extern",
}


def autotune_row(
    index: Index, found: inductor.Autotuning, hints: Mapping[str, int], graphs: Iterable[CompiledGraph]
) -> rows.Autotuning:
    """``graphs``: those of the compile, whose kernels tell what became of the choice."""
    winner, default = found.winner, found.default
    more: dict[str, int] = {}
    return rows.Autotuning(
        found.op,
        list(found.shapes),
        list(found.dtypes),
        list(found.strides),
        _hinted(found, hints),
        winner.name if winner else None,
        winner.backend if winner else None,
        _rounded(found.margin),
        [
            rows.Choice(c.name, c.backend, c.time_ms, c.failed, c.config or None, c.why or None)
            for c in few(found.choices, lengths.CHOICES, "choices", more, total=found.count)
        ],
        max(found.count, len(found.choices)),
        1,
        found.tuning_s,
        list(found.failures),
        found.node,
        line_at(index, _place(index, found)),
        found.backward,
        default.name if default else None,
        default.time_ms if default else None,
        _rounded(found.margin_over_default),
        _emitted(found, graphs),
        sum(choice.failed for choice in found.choices),
        found.rung[2] if found.rung else None,
        found.compiled,
        found.compiled_s,
        more,
    )


def _rounded(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None


def _place(index: Index, found: inductor.Autotuning) -> Location | None:
    detail = index.process.detail
    if found.place is None or detail is None:
        return None
    file = detail.files(found.place[0])
    return Location(file, found.place[1], found.place[2]) if file is not None else None


def _hinted(found: inductor.Autotuning, hints: Mapping[str, int]) -> list[str]:
    """As torch says; where only capture's record is there, the shapes at the sizes of the compile."""
    if found.hinted and any(found.hinted):
        return list(found.hinted)
    shapes = []
    for shape in found.shapes:
        numbers = [size(part).at(hints) for part in shape.split("x")]
        if None in numbers:
            return []
        shapes.append("x".join(map(str, numbers)))
    return shapes


def _emitted(found: inductor.Autotuning, graphs: Iterable[CompiledGraph]) -> str | None:
    """By the node in a kernel; without a node only where all such kernels of the compile are of one kind."""
    kernels = [kernel for graph in graphs for kernel in graph.kernels if kernel.kind in _EMITTED]
    if found.node is not None:
        named = [k for k in kernels if any(node.name == found.node for node in k.nodes)]
        kernels = named or [k for k in kernels if not k.nodes]
    backends = {_EMITTED[kernel.kind] for kernel in kernels}
    return backends.pop() if len(backends) == 1 else None
