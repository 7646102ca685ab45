"""What fusing saved, in launches and in bytes, and what could still have been one kernel.

Bytes moved, all in bytes of global memory read plus written per call:

* ``bytes_eager``: every FX node alone, ``sum over nodes (sum of its input tensors + its outputs)``; views,
  indexes and sizes move nothing.
* ``bytes_before``: Inductor's nodes before fusion, each alone, by Inductor's own count (per buffer the
  smaller of accesses and size). Pointwise chains are one node already then.
* ``bytes_after``: the same for the fused nodes; buffers that only live inside a kernel are gone. Without
  scheduler facts (a cache hit, an imported log): the operands of each launch, each once, in-out twice. That
  is more than the truth where a kernel reads a part of an operand (embedding tables, gathers).

For dynamic sizes the scheduler's counts are numbers for the sizes it compiled with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from compilescope.model.inductor import kinds
from compilescope.model.inductor.aot import is_view
from compilescope.model.inductor.fx_text import FxGraph, Node
from compilescope.model.inductor.launches import Walk
from compilescope.model.inductor.output_code import OutputCode
from compilescope.model.inductor.schedule import Schedule, fused_groups
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import printed_tensor
from compilescope.model.inductor.values import Fusion, Launch, MissedEpilogue

_PRODUCERS = frozenset({kinds.GEMM, kinds.CONVOLUTION, kinds.TEMPLATE})
_NAME = re.compile(r"\b\w+\b")
_CPP_REDUCTION = re.compile(r"_acc\d*\b|declare reduction|reduction\(")


def fusion(
    code: OutputCode, walk: Walk, graph: FxGraph | None, schedule: Schedule | None, ir_nodes: int | None
) -> Fusion:
    """``graph``: after the joint passes (`inductor_post_grad_graph`, or an AOT graph); ``ir_nodes``: how many
    nodes before fusion, as the compiled graph itself states it, which a cache hit has too.
    """
    launches = walk.launches
    before = [part.size_bytes for node in schedule.nodes for part in node.parts] if schedule else []
    after = [node.size_bytes for node in schedule.nodes] if schedule else []
    return Fusion(
        nodes_before=schedule.before if schedule and schedule.before is not None else ir_nodes,
        nodes_after=schedule.after if schedule else None,
        kernels=sum(launch.kind != kinds.COLLECTIVE_WAIT for launch in launches),
        groups=fused_groups(schedule),
        bytes_eager=eager_bytes(graph) if graph else None,
        bytes_before=_sum_known(before),
        bytes_after=_sum_known(after) if schedule else _moved(launches),
        bytes_from="scheduler" if schedule else "code",
        missed_epilogues=missed_epilogues(code, walk),
    )


def eager_bytes(graph: FxGraph) -> Size:
    nodes = graph.by_name()
    parts: dict[str, list[Node]] = {}  # a node with several results has no layout: its ``getitem`` nodes have
    for node in graph.nodes:
        if node.op == "getitem" and node.inputs:
            parts.setdefault(node.inputs[0], []).append(node)
    total = size(0)
    for node in graph.calls:
        if is_view(node.op):
            continue
        for name in node.inputs:
            total = total + _bytes_of(name, graph, nodes)
        for made in [node] if node.tensor else parts.get(node.name, []):
            total = total + _bytes_of(made.name, graph, nodes)
    return total


def _bytes_of(name: str, graph: FxGraph, nodes: Mapping[str, Node]) -> Size:
    node = nodes.get(name)
    tensor = node.tensor if node else printed_tensor(graph.inputs.get(name, ("", ""))[0])
    found = tensor.size_bytes if tensor else None
    return found if found is not None else size(0)


def _sum_known(sizes: Sequence[int | None]) -> Size | None:
    known = [n for n in sizes if n is not None]
    return size(sum(known)) if known else None


def _moved(launches: Iterable[Launch]) -> Size | None:
    known = [launch.bytes_moved for launch in launches if launch.bytes_moved is not None]
    total = size(0)
    for found in known:
        total = total + found
    return total if known else None


def missed_epilogues(code: OutputCode, walk: Walk) -> tuple[MissedEpilogue, ...]:
    returned = {
        name
        for step in walk.steps
        if step.function == "call" and step.statement.text.startswith("return")
        for name in _NAME.findall(step.statement.text)
    }
    uses = _uses(walk)
    found = []
    for i, producer in enumerate(walk.launches):
        if producer.kind not in _PRODUCERS:
            continue
        made = next((o for o in producer.operands if o.role == "out"), None)
        if made is None or made.name in returned:
            continue
        readers = _readers(uses[walk.root(made.name)], i)
        if len(readers) == 1 and _is_pointwise(readers[0], code):
            found.append(
                MissedEpilogue(producer.kernel, readers[0].kernel, made.name, made.tensor, producer.lines)
            )
    return tuple(found)


Use = tuple[int, Launch, set[str]]  # position, launch, roles


def _uses(walk: Walk) -> dict[str, list[Use]]:
    """Storage -> the launches that take it, in order."""
    uses: dict[str, list[Use]] = {}
    for i, launch in enumerate(walk.launches):
        for operand in launch.operands:
            own = uses.setdefault(walk.root(operand.name), [])
            if own and own[-1][0] == i:
                own[-1][2].add(operand.role)
            else:
                own.append((i, launch, {operand.role}))
    return uses


def _readers(uses: Sequence[Use], after: int) -> list[Launch]:
    """Who reads the result, until its storage is written over: in place, or by another buffer's reuse."""
    readers = []
    for i, launch, roles in uses:
        if i <= after:
            continue
        if roles & {"in", "inout"}:
            readers.append(launch)
        if roles & {"out", "inout"}:
            break
    return readers


def _is_pointwise(launch: Launch, code: OutputCode) -> bool:
    if launch.kind == kinds.CPP_LOOP:
        definition = code.definitions.get(launch.kernel)
        return definition is not None and not _CPP_REDUCTION.search(definition.source)
    return launch.kind == kinds.POINTWISE
