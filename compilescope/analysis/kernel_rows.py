"""What Inductor made of one graph, as rows of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from compilescope.analysis import lengths
from compilescope.analysis import report_graph as rows
from compilescope.analysis.index import Index
from compilescope.analysis.lengths import few
from compilescope.analysis.lines import expression_of, number_of, printed_line, printed_lines
from compilescope.model import inductor
from compilescope.model.inductor import CompiledGraph

_NOT_TUNED = inductor.TritonTuning("", ())
_FAMILIES = (  # (start of the kind, family)
    ("c++", "cpp"),
    ("cutlass", "cutlass"),
    ("extern", "extern"),
    ("aten", "fallback"),
    ("custom", "custom"),
    ("collective", "collective"),
    ("copy", "copy"),
    ("triton", "triton"),
)


def families(graphs: Iterable[CompiledGraph]) -> dict[str, int]:
    """Launches per call by family of kernels."""
    counts: Counter[str] = Counter()
    for graph in graphs:
        for kernel in graph.kernels:
            family = next((name for start, name in _FAMILIES if kernel.kind.startswith(start)), "other")
            counts[family] += kernel.launches
    return dict(counts)


def kernel_rows(
    index: Index,
    graphs: Sequence[CompiledGraph],
    tunings: Iterable[inductor.TritonTuning],
    more: dict[str, int],
) -> list[rows.KernelRow]:
    """Most bytes first, those without a count last. ``tunings``: of these graphs."""
    found = [(graph, kernel) for graph in graphs for kernel in graph.kernels]
    found.sort(key=lambda pair: -(number_of(pair[1].bytes_moved, pair[0].hints) or 0))
    tuned = {tuning.kernel: tuning for tuning in tunings}
    return [
        _kernel(index, graph, kernel, tuned.get(kernel.name, _NOT_TUNED))
        for graph, kernel in few(found, lengths.KERNELS, "kernel_rows", more)
    ]


def _kernel(
    index: Index, graph: CompiledGraph, kernel: inductor.Kernel, tuned: inductor.TritonTuning
) -> rows.KernelRow:
    more: dict[str, int] = {}
    return rows.KernelRow(
        kernel.name,
        kernel.kind,
        kernel.library,
        kernel.launches,
        list(kernel.aten) or [node.op for node in kernel.nodes],
        printed_lines(index, kernel.lines),
        kernel.device,
        list(kernel.dtypes),
        [str(tensor) for tensor in kernel.shapes],
        kernel.grid,
        dict(kernel.config),
        kernel.template,
        list(kernel.epilogue),
        number_of(kernel.bytes_moved, graph.hints),
        expression_of(kernel.bytes_moved),
        [
            rows.KernelNode(node.name, node.op, node.original or "", printed_line(index, node.line))
            for node in few(kernel.nodes, lengths.NODES, "nodes", more)
        ],
        len(kernel.nodes),
        [
            rows.Choice(c.name, c.backend, c.time_ms, c.failed, c.config or None)
            for c in few(tuned.choices, lengths.CONFIGURATIONS, "tuned", more, total=tuned.count)
        ],
        tuned.count,
        more,
    )


def fusion_row(index: Index, graph: CompiledGraph) -> rows.Fusion:
    fused, hints = graph.fusion, graph.hints
    groups = sorted(fused.groups, key=lambda group: -(group.bytes_before or 0))
    more: dict[str, int] = {}
    return rows.Fusion(
        fused.nodes_before,
        fused.nodes_after,
        fused.kernels,
        number_of(fused.bytes_eager, hints),
        number_of(fused.bytes_before, hints),
        number_of(fused.bytes_after, hints),
        fused.bytes_from,
        [
            rows.FusedGroup(list(g.ops), g.vertical, g.horizontal, g.bytes_before, g.bytes_after)
            for g in few(groups, lengths.FUSED_GROUPS, "groups", more)
        ],
        len(groups),
        [
            rows.MissedEpilogue(
                missed.producer,
                missed.pointwise,
                number_of(missed.saved_bytes, hints),
                printed_lines(index, missed.lines),
            )
            for missed in fused.missed_epilogues
        ],
        expression_of(fused.bytes_after),
        [
            rows.Unfused(
                list(pair.first_ops),
                list(pair.second_ops),
                pair.reason,
                pair.linked,
                list(pair.buffers),
                printed_lines(index, pair.lines),
                number_of(pair.shared_bytes, hints),
            )
            for pair in few(fused.unfused, lengths.FUSED_GROUPS, "unfused", more)
        ],
        len(fused.unfused),
        dict(fused.unfused_reasons),
        fused.unfused_missing,
        more,
    )


def memory_row(index: Index, graph: CompiledGraph) -> rows.Memory | None:
    plan, hints = graph.memory, {**graph.hints}
    if plan is None:
        return None
    hints |= plan.hints
    live = sorted(plan.live_at_peak, key=lambda buffer: -(number_of(buffer.size_bytes, hints) or 0))
    more: dict[str, int] = {}
    return rows.Memory(
        plan.allocations,
        plan.reuses,
        plan.frees,
        number_of(plan.allocated_bytes, hints),
        number_of(plan.reused_bytes, hints),
        number_of(plan.peak_bytes, hints),
        number_of(plan.end_bytes, hints),
        plan.peak_after,
        [
            rows.Buffer(
                buffer.name,
                str(buffer.tensor) if buffer.tensor else None,
                number_of(buffer.size_bytes, hints),
                buffer.written_by,
                printed_lines(index, buffer.lines),
            )
            for buffer in few(live, lengths.BUFFERS, "live_at_peak", more)
        ],
        len(live),
        expression_of(plan.peak_bytes),
        list(plan.unsized),
        more,
    )


def crossing_rows(index: Index, graphs: Iterable[CompiledGraph], more: dict[str, int]) -> list[rows.Crossing]:
    found = [(graph, crossing) for graph in graphs for crossing in graph.crossings]
    return [
        rows.Crossing(
            crossing.kind,
            crossing.detail,
            number_of(crossing.size_bytes, graph.hints),
            crossing.blocking,
            printed_lines(index, crossing.lines),
            crossing.before,
            crossing.after,
            crossing.pinned,
        )
        for graph, crossing in few(found, lengths.CROSSINGS, "crossings", more)
    ]


def cache_row(found: inductor.CacheOutcome) -> rows.CacheOutcome:
    return rows.CacheOutcome(
        found.cache,
        found.outcome,
        found.key,
        found.bypass_reason or found.detail,
        found.saved_s,
        found.took_s,
    )


def decomposition_rows(
    index: Index, graphs: Iterable[CompiledGraph], more: dict[str, int]
) -> list[rows.Decomposition]:
    found = [part for graph in graphs for part in graph.decompositions]
    return [
        rows.Decomposition(d.op, dict(d.became), printed_lines(index, d.lines), d.exact)
        for d in few(found, lengths.DECOMPOSITIONS, "decompositions", more)
    ]


def lines_by_node(graphs: Iterable[CompiledGraph]) -> dict[str, inductor.SourceLine]:
    """The user's line of each node, where Inductor's scheduler was recorded."""
    nodes = (node for graph in graphs for kernel in graph.kernels for node in kernel.nodes)
    return {node.name: node.line for node in nodes if node.line is not None}


def aot_row(
    index: Index,
    found: inductor.AotGraphs,
    hints: dict[str, int],
    lines: Mapping[str, inductor.SourceLine] | None = None,
) -> rows.Aot:
    """``lines``: where a node comes from, for those whose own line is torch's."""
    saved = sorted(found.saved, key=lambda tensor: -(number_of(tensor.size_bytes, hints) or 0))
    more: dict[str, int] = {}
    return rows.Aot(
        found.joint_ops,
        found.forward_ops,
        found.backward_ops,
        found.inference_ops,
        number_of(found.saved_bytes, hints),
        expression_of(found.saved_bytes),
        sum(tensor.kind == "activation" for tensor in saved),
        [
            rows.SavedTensor(
                tensor.name,
                tensor.kind,
                str(tensor.tensor) if tensor.tensor else None,
                number_of(tensor.size_bytes, hints),
                printed_line(index, tensor.line) or printed_line(index, (lines or {}).get(tensor.name)),
            )
            for tensor in few(saved, lengths.TENSORS, "saved", more)
        ],
        len(found.recomputed),
        [node.name for node in few(found.recomputed, lengths.TENSORS, "recomputed", more)],
        number_of(found.recompute_saves_bytes, hints),
        [
            rows.Mutation(m.input, m.in_graph, printed_line(index, m.line))
            for m in few(found.mutations, lengths.TENSORS, "mutations", more)
        ],
        [_alias(alias) for alias in few(found.aliases, lengths.TENSORS, "aliases", more)],
        found.donated,
        dict(found.op_counts),
        few(found.recomputable, lengths.TENSORS, "recomputable", more),
        len(found.recomputable),
        number_of(found.recomputable_bytes, hints),
        more,
    )


def _alias(alias: inductor.Alias) -> str:
    base = f" {alias.base}" if alias.base is not None else ""
    return f"output {alias.output}: {alias.kind.replace('_', ' ')}{base}"
