"""Pairs of nodes that Inductor tried to fuse and turned down, put together by what they became.

Inductor tries a pair again as groups grow. A pair whose nodes ended up in one kernel after all is no loss,
nor is one that shares no buffer; of what is left the last reason holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from compilescope.model.inductor.schedule import Schedule, ScheduledNode
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.values import Unfused

NO_REASONS = "Inductor's reasons are recorded when it fuses: not on a cache hit, nor in an imported log"
_NO_KERNEL = frozenset({"MultiOutput", "NoneType"})


def unfused(
    schedule: Schedule | None, text: str | None, tensor_of: Callable[[str], Tensor | None] = lambda _: None
) -> tuple[Unfused, ...]:
    """From the payload of an `inductor_unfused` record: rows of first node, second node, reason.

    Pairs of which one reads the other come first, most bytes first. ``tensor_of``: the layout of a buffer.
    """
    if schedule is None:
        return ()
    owner = {part.name: node for node in schedule.nodes for part in node.parts}
    last: dict[frozenset[int], tuple[ScheduledNode, ScheduledNode, str]] = {}
    for row in _rows(text):
        first, second = (_node(str(name), owner) for name in row[:2])
        if first is None or second is None or first is second:
            continue
        if _reads(first, second) and not _reads(second, first):
            first, second = second, first
        last[frozenset((id(first), id(second)))] = (first, second, str(row[2]))
    found = (_unfused(first, second, reason, tensor_of) for first, second, reason in last.values())
    return tuple(sorted((pair for pair in found if pair.buffers), key=_rank))


def reasons(m: Mapping[str, Any]) -> dict[str, int]:
    """How often each reason was given, "no shared data" included; without places for its arguments."""
    counts = m.get("reasons")
    found: dict[str, int] = {}
    for reason, n in counts.items() if isinstance(counts, Mapping) else ():
        if isinstance(n, int):
            plain = str(reason).partition("%")[0].rstrip(" (,:=") or str(reason)
            found[plain] = found.get(plain, 0) + n
    return found


def _rank(pair: Unfused) -> tuple[bool, int, tuple[str, ...], tuple[str, ...]]:
    moved = pair.shared_bytes.order({}) if pair.shared_bytes is not None else 0
    return (not pair.linked, -moved, pair.first, pair.second)


def _unfused(
    first: ScheduledNode, second: ScheduledNode, reason: str, tensor_of: Callable[[str], Tensor | None]
) -> Unfused:
    linked = first.writes & second.reads
    shared = linked or (first.reads & second.reads)
    return Unfused(
        first=tuple(part.name for part in first.parts),
        second=tuple(part.name for part in second.parts),
        first_ops=_ops(first),
        second_ops=_ops(second),
        reason=reason,
        linked=bool(linked),
        buffers=tuple(sorted(shared)),
        lines=tuple(dict.fromkeys((*first.lines, *second.lines))),
        shared_bytes=_bytes_of(shared, tensor_of),
    )


def _bytes_of(buffers: Iterable[str], tensor_of: Callable[[str], Tensor | None]) -> Size | None:
    """None where the size of one of them is not known."""
    total = size(0)
    for name in buffers:
        tensor = tensor_of(name)
        if tensor is None or tensor.size_bytes is None:
            return None
        total = total + tensor.size_bytes
    return total


def _reads(reader: ScheduledNode, writer: ScheduledNode) -> bool:
    return bool(reader.reads & writer.writes)


def _ops(node: ScheduledNode) -> tuple[str, ...]:
    return tuple(dict.fromkeys(".".join(n.op.split(".")[:2]) for n in node.nodes))


def _node(name: str, owner: Mapping[str, ScheduledNode]) -> ScheduledNode | None:
    """A group is named by its nodes, joined by ``_``: the first one tells where it went."""
    found = owner.get(name) or owner.get(name.split("_")[0])
    return None if found is None or found.ir in _NO_KERNEL else found


def _rows(text: str | None) -> list[Sequence[Any]]:
    try:
        rows = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return [row for row in rows if isinstance(row, list) and len(row) == 3] if isinstance(rows, list) else []
