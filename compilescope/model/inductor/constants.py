"""What Inductor's own count of bytes leaves out: constants, such as the packed weights of a frozen model.

Its count asks for the size of inputs and of buffers and passes over every other name. A kernel reads a
constant whole, except where an operation picks rows of it: those stay uncounted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compilescope.model.inductor.launches import Walk
from compilescope.model.inductor.output_code import OutputCode
from compilescope.model.inductor.schedule import Part, Schedule, ScheduledNode

_PICKS = frozenset({"embedding", "index", "index_select", "gather", "_embedding_bag"})


def with_constants(schedule: Schedule | None, code: OutputCode, walk: Walk) -> Schedule | None:
    """The schedule with the bytes of constants added to the nodes that read them."""
    if schedule is None or not code.constants:
        return schedule
    sizes: dict[str, int] = {}
    for name in code.constants:
        tensor = walk.tensors(name)
        size_bytes = tensor.size_bytes.value if tensor and tensor.size_bytes else None
        if size_bytes is not None:
            sizes[name] = size_bytes
    return replace(schedule, nodes=tuple(_node(node, sizes) for node in schedule.nodes))


def _node(node: ScheduledNode, sizes: Mapping[str, int]) -> ScheduledNode:
    words = {word for fx in node.nodes for word in fx.op.split(".")}
    if words & _PICKS or not node.reads & sizes.keys():
        return node
    parts = tuple(_part(part, sizes) for part in node.parts)
    return replace(node, size_bytes=_added(node.size_bytes, node.reads, sizes), parts=parts)


def _part(part: Part, sizes: Mapping[str, int]) -> Part:
    return replace(part, size_bytes=_added(part.size_bytes, part.reads, sizes))


def _added(counted: int | None, reads: Iterable[str], sizes: Mapping[str, int]) -> int | None:
    return None if counted is None else counted + sum(sizes.get(name, 0) for name in reads)
