"""Where a graph leaves what the compiler can see or fuse: device copies, waits, collectives, opaque ops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compilescope.model.inductor import kinds
from compilescope.model.inductor._text import arguments
from compilescope.model.inductor.fx_text import FxGraph, Node
from compilescope.model.inductor.launches import Step, Walk
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.values import Crossing, FxNode, Launch, SourceLine

_ITEM = re.compile(r"= (\w+)\.item\(\)")
_ON_HOST = re.compile(r"^(\w+) = empty_strided_cpu(_pinned)?\(")
_MOVES = ("prims.device_put", "aten._to_copy", "aten.to", "aten.copy")


def crossings(walk: Walk, graph: FxGraph | None, nodes: Iterable[FxNode] = ()) -> tuple[Crossing, ...]:
    """In the order of the code. ``graph`` gives the lines of device copies, which carry no comment;
    ``nodes`` those of calls that torch's own code makes for the user, as far as they say a line.
    """
    moves, own, reads = _moves(graph), _lines_of_calls(nodes), _lines_of_reads(graph)
    steps = [step for step in walk.steps if step.launch is None or step.launch.kind != kinds.COLLECTIVE_WAIT]
    found = []
    for i, step in enumerate(steps):
        launch = step.launch
        crossing = None
        if launch is not None and launch.kind == kinds.COPY:
            crossing = _copy(launch, moves, steps[:i])
        elif launch is not None and launch.kind in (kinds.COLLECTIVE, kinds.CUSTOM_OP):
            lines = own[_op_of(launch.kernel)].pop(0) if own.get(_op_of(launch.kernel)) else launch.lines
            crossing = Crossing(launch.kind, launch.kernel, _operand_bytes(launch), None, lines)
        elif item := _ITEM.search(step.statement.text):
            tensor = walk.tensors(item.group(1))
            lines = reads.pop(0) if reads else ()
            if tensor is None or _device(tensor) != "cpu":
                crossing = Crossing("device sync", f"{item.group(1)}.item()", None, True, lines)
        if crossing is not None:
            found.append(replace(crossing, before=_nearest(steps[:i][::-1]), after=_nearest(steps[i + 1 :])))
    return tuple(found)


def _lines_of_reads(graph: FxGraph | None) -> list[tuple[SourceLine, ...]]:
    """Of each ``.item()`` that is left in the graph, in order: the code has them in the same."""
    nodes = graph.nodes if graph is not None else ()
    return [(n.line,) if n.line else () for n in nodes if n.op.startswith("aten._local_scalar_dense")]


def _nearest(steps: Sequence[Step]) -> str | None:
    return next((step.launch.kernel for step in steps if step.launch is not None), None)


def _lines_of_calls(nodes: Iterable[FxNode]) -> dict[str, list[tuple[SourceLine, ...]]]:
    """By operator in the order of their names, which torch numbers: ``all_reduce``, ``all_reduce_1``."""
    named = {node.name: node for node in nodes if node.line is not None}
    found: dict[str, list[tuple[SourceLine, ...]]] = {}
    for name in sorted(named, key=lambda name: [int(n) for n in re.findall(r"\d+", name)]):
        node = named[name]
        if node.line is not None:
            found.setdefault(_op_of(node.op), []).append((node.line,))
    return found


def _op_of(name: str) -> str:
    """``torch.ops._c10d_functional.all_reduce_.default`` -> ``_c10d_functional.all_reduce``."""
    words = name.removeprefix("torch.ops.").split(".")
    return ".".join(words[:2]).rstrip("_")


def _copy(
    launch: Launch, moves: list[tuple[str, str, SourceLine]], before: Sequence[Step]
) -> Crossing | None:
    """A copy between devices; within one it is a kernel like others."""
    target = next((o.tensor for o in launch.operands if o.role == "out"), None)
    source = next((o.tensor for o in launch.operands if o.role == "in"), None)
    if target is None:
        return None
    to, origin = _device(target), _device(source) if source else None
    if to == origin:
        return None
    lines = tuple(dict.fromkeys(line for a, b, line in moves if b == to and origin in (None, a)))
    pieces = arguments(launch.text, launch.text.index("(") + 1)[0]
    blocking = None if len(pieces) < 2 else pieces[1] != "True"
    detail = f"{origin or '?'} -> {to or '?'}"
    return Crossing("device copy", detail, target.size_bytes, blocking, lines, _pinned(launch, before))


def _pinned(launch: Launch, before: Sequence[Step]) -> bool | None:
    """Whether the side on the host is page-locked; None where the code did not allocate it."""
    names = {operand.name for operand in launch.operands}
    for step in before:
        if (found := _ON_HOST.match(step.statement.text)) and found.group(1) in names:
            return found.group(2) is not None
    return None


def _device(tensor: Tensor) -> str | None:
    return tensor.device.partition(":")[0] if tensor.device else None


def _moves(graph: FxGraph | None) -> list[tuple[str, str, SourceLine]]:
    """(from, to, line) of the nodes whose result is on another device than what they read."""
    if graph is None:
        return []
    nodes = graph.by_name()
    found = []
    for node in graph.nodes:
        if not node.op.startswith(_MOVES) or node.tensor is None or node.line is None:
            continue
        to = _device(node.tensor)
        origin = next((d for d in (_device_of(n, graph, nodes) for n in node.inputs) if d), None)
        if to and origin and to != origin:
            found.append((origin, to, node.line))
    return found


def _device_of(name: str, graph: FxGraph, nodes: dict[str, Node]) -> str | None:
    node = nodes.get(name)
    if node is not None:
        return _device(node.tensor) if node.tensor else None
    annotation = graph.inputs.get(name, ("", ""))[0]
    return annotation.rpartition("]")[2].partition(":")[0] or None


def _operand_bytes(launch: Launch) -> Size | None:
    sizes = [o.tensor.size_bytes for o in launch.operands if o.role == "in" and o.tensor]
    known = [found for found in sizes if found is not None]
    total = size(0)
    for found in known:
        total = total + found
    return total if known else None
