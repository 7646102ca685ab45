"""What AOTAutograd made of a graph: op counts, what is saved for the backward, what is recomputed.

From the printed graphs, which torch repeats on a cache hit. *Recomputed* are the forward's operations that
stand in the backward again (the min-cut partitioner prefers that to saving their results).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from compilescope.model.inductor.fx_text import FxGraph, Node
from compilescope.model.inductor.recompute import recomputable
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import printed_tensor
from compilescope.model.inductor.values import Alias, AotGraphs, FxNode, Mutation, SavedTensor, SourceLine

_IDX = re.compile(r"\(idx=(\d+)\)")
_MUTATED = re.compile(r"InputMutationAOTOutput\(mutated_input=(.+)\)$")
_ALIAS = re.compile(r"OutputAliasInfo\(\s*output_type=<OutputType\.(\w+):[^>]*>.*?base_idx=(None|\d+)", re.S)
_INPUT_INFO = re.compile(r"InputAliasInfo\((.*?)keep_input_mutations=(True|False)", re.S)
_DONATED = re.compile(r"bw_donated_idxs=\[([^\]]*)\]")
_VIEW_OPS = frozenset(
    {
        "view",
        "reshape",
        "permute",
        "transpose",
        "t",
        "expand",
        "unsqueeze",
        "squeeze",
        "slice",
        "select",
        "as_strided",
        "alias",
        "_unsafe_view",
        "detach",
        "diagonal",
        "unfold",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "narrow",
        "view_as_real",
        "view_as_complex",
        "lift_fresh_copy",
    }
)
_UNALIASED = frozenset({"non_alias"})


def aot_graphs(
    *,
    joint: FxGraph | None = None,
    forward: FxGraph | None = None,
    backward: FxGraph | None = None,
    inference: FxGraph | None = None,
    metadata: str | None = None,
) -> AotGraphs:
    """``metadata``: the text of the `aot_forward_graph_fw_metadata` artifact."""
    saved = _saved(forward) if forward else ()
    recomputed = _recomputed(forward, backward)
    spare = recomputable(forward, saved) if forward else ()
    run = forward or inference
    return AotGraphs(
        joint_ops=_count(joint),
        forward_ops=_count(forward),
        backward_ops=_count(backward),
        inference_ops=_count(inference),
        saved=saved,
        saved_bytes=_sum(s.size_bytes for s in saved if s.kind == "activation"),
        recomputed=tuple(FxNode(node.name, node.op) for node in recomputed),
        recompute_saves_bytes=_sum(_kept_instead(recomputed, backward)),
        recomputable=tuple(s.name for s in spare),
        recomputable_bytes=_sum(s.size_bytes for s in spare),
        mutations=_mutations(run, metadata),
        aliases=_aliases(metadata),
        donated=_donated(metadata),
        op_counts=dict(Counter(_op(node) for node in run.calls).most_common()) if run else {},
    )


def is_view(op: str) -> bool:
    words = op.split(".")
    return len(words) > 1 and words[0] in ("aten", "prims") and words[1] in _VIEW_OPS


def _op(node: Node) -> str:
    return ".".join(node.op.split(".")[:2])


def _count(graph: FxGraph | None) -> int | None:
    return len(graph.calls) if graph is not None else None


def _saved(forward: FxGraph) -> tuple[SavedTensor, ...]:
    nodes = forward.by_name()
    kept = [output for output in forward.outputs if output.label.startswith("SavedForBackwards")]
    returned = {_base(o.name, nodes) for o in forward.outputs if not o.label.startswith("SavedForBackwards")}
    seen: set[str] = set()
    saved = []
    for output in kept:
        base = _base(output.name, nodes)
        kind = _saved_kind(output.name, base, forward, nodes, returned | seen)
        seen.add(base)
        annotation = _annotation(output.name, forward, nodes)
        tensor = printed_tensor(annotation)
        node = nodes.get(output.name)
        saved.append(
            SavedTensor(
                name=output.name,
                kind=kind,
                tensor=tensor,
                size_bytes=tensor.size_bytes if tensor else None,
                line=node.line if node else None,
                base=base if kind == "alias" else None,
            )
        )
    return tuple(saved)


def _saved_kind(
    name: str, base: str, forward: FxGraph, nodes: Mapping[str, Node], taken: Iterable[str]
) -> str:
    if _annotation(name, forward, nodes).startswith("Sym("):
        return "size"
    if name in forward.inputs:
        return "input"
    return "alias" if base in forward.inputs or base in taken else "activation"


def _annotation(name: str, graph: FxGraph, nodes: Mapping[str, Node]) -> str:
    if name in graph.inputs:
        return graph.inputs[name][0]
    node = nodes.get(name)
    return node.annotation if node else ""


def _base(name: str, nodes: Mapping[str, Node]) -> str:
    """Back through views to the node that owns the memory."""
    for _ in range(len(nodes) + 1):
        node = nodes.get(name)
        if node is None or not is_view(node.op) or not node.inputs:
            return name
        name = node.inputs[0]
    return name


def _recomputed(forward: FxGraph | None, backward: FxGraph | None) -> list[Node]:
    if forward is None or backward is None:
        return []
    computed = {node.name: node.op for node in forward.calls}
    return [node for node in backward.calls if computed.get(node.name) == node.op and not is_view(node.op)]


def _kept_instead(recomputed: list[Node], backward: FxGraph | None) -> list[Size | None]:
    """Results that the rest of the backward reads: the ones that would have to be saved."""
    if backward is None:
        return []
    names = {node.name for node in recomputed}
    outside = {used for node in backward.nodes if node.name not in names for used in node.inputs}
    return [node.tensor.size_bytes for node in recomputed if node.tensor and node.name in outside]


def _sum(sizes: Iterable[Size | None]) -> Size:
    total = size(0)
    for found in sizes:
        if found is not None:
            total = total + found
    return total


def _mutations(run: FxGraph | None, metadata: str | None) -> tuple[Mutation, ...]:
    """An input counts as mutated if torch's metadata or a label says so, or ``copy_`` writes it back."""
    if run is None:
        return ()
    by_index = {_index(label): name for name, (_, label) in run.inputs.items()}
    written: dict[str, SourceLine | None] = {
        node.inputs[0]: node.line
        for node in run.nodes
        if node.op.startswith("aten.copy_") and node.inputs and node.inputs[0] in run.inputs
    }
    found = {name: Mutation(name, _index(run.inputs[name][1]), True, line) for name, line in written.items()}
    nodes = run.by_name()
    for output in run.outputs:
        label = _MUTATED.match(output.label)
        name = by_index.get(_index(label.group(1))) if label else None
        if name is not None and name not in found:
            made = nodes.get(output.name)
            found[name] = Mutation(name, _index(run.inputs[name][1]), False, made.line if made else None)
    for i in _mutated_indices(metadata):
        name = by_index.get(i)
        if name is not None and name not in found:
            found[name] = Mutation(name, i, False, None)
    return tuple(found.values())


def _index(label: str) -> int | None:
    found = _IDX.search(label)
    return int(found.group(1)) if found else None


def _mutated_indices(metadata: str | None) -> list[int]:
    infos = _INPUT_INFO.findall(metadata or "")
    return [i for i, (fields, _) in enumerate(infos) if "mutates_data=True" in fields]


def _aliases(metadata: str | None) -> tuple[Alias, ...]:
    found = enumerate(_ALIAS.findall(metadata or ""))
    return tuple(
        Alias(i, kind, int(base) if base.isdigit() else None)
        for i, (kind, base) in found
        if kind not in _UNALIASED
    )


def _donated(metadata: str | None) -> int | None:
    found = _DONATED.search(metadata or "")
    return len([n for n in found.group(1).split(",") if n.strip()]) if found else None
