"""Inductor's own structures, as capture wrote them on a cache miss: nodes after fusion, and wrapper calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compilescope.model.inductor import kinds
from compilescope.model.inductor.launches import recognize
from compilescope.model.inductor.values import FusedGroup, FxNode, SourceLine

FileName = Callable[[int], str | None]
_NO_KERNEL = frozenset({"MultiOutput", "NoneType"})


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    reads: frozenset[str]
    writes: frozenset[str]
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class ScheduledNode:
    """A scheduler node after fusion. ``kernel``: the extern function; None for generated code."""

    type: str
    ir: str
    kernel: str | None
    template: bool
    reduction: bool
    device: str
    size_bytes: int | None
    parts: tuple[Part, ...]
    nodes: tuple[FxNode, ...]
    lines: tuple[SourceLine, ...]

    @property
    def writes(self) -> frozenset[str]:
        return frozenset().union(*(part.writes for part in self.parts))

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts))


@dataclass(frozen=True, slots=True)
class Schedule:
    direction: str
    before: int | None
    after: int | None
    nodes: tuple[ScheduledNode, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A wrapper line that launches. ``buffers``: what it takes or makes."""

    kernel: str
    kind_from_line: str | None  # None: to be told from the scheduler node behind it
    triton: bool
    device: str | None
    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScheduledKernel:
    """What the scheduler says of a kernel by name."""

    name: str
    kind: str
    launches: int
    device: str | None
    nodes: tuple[FxNode, ...]
    lines: tuple[SourceLine, ...]


def parse_schedule(m: Mapping[str, Any], text: str | None, file_name: FileName) -> Schedule:
    """From an `inductor_schedule` record. Rows that are not what they should be are left out."""
    direction = "backward" if m.get("is_backward") else "inference" if m.get("is_inference") else "forward"
    nodes = tuple(_node(row, file_name) for row in _rows(text))
    return Schedule(direction, _int(m.get("before")), _int(m.get("after")), nodes)


def parse_calls(text: str | None) -> tuple[Call, ...]:
    """From the payload of an `inductor_calls` record."""
    calls = (_call(row) for row in _rows(text))
    return tuple(call for call in calls if call is not None)


def scheduled_kernels(schedule: Schedule | None, calls: Sequence[Call]) -> dict[str, ScheduledKernel]:
    """Kernels by name, from objects alone: no generated code is looked at."""
    behind = _nodes_behind(schedule.nodes if schedule else (), calls)
    found: dict[str, ScheduledKernel] = {}
    for call, nodes in zip(calls, behind, strict=True):
        known = found.get(call.kernel)
        fx = dict.fromkeys((*(known.nodes if known else ()), *(n for node in nodes for n in node.nodes)))
        lines = dict.fromkeys((*(known.lines if known else ()), *(ln for node in nodes for ln in node.lines)))
        kind = known.kind if known else _kind(call, nodes)
        found[call.kernel] = ScheduledKernel(
            call.kernel, kind, known.launches + 1 if known else 1, call.device, tuple(fx), tuple(lines)
        )
    return found


def fused_groups(schedule: Schedule | None) -> tuple[FusedGroup, ...]:
    """Nodes the scheduler put together, with what each part moved alone and what the whole moves."""
    nodes = (node for node in (schedule.nodes if schedule else ()) if len(node.parts) > 1)
    return tuple(_group(node) for node in nodes)


def _group(node: ScheduledNode) -> FusedGroup:
    linked = _linked(node.parts)
    sizes = [part.size_bytes for part in node.parts if part.size_bytes is not None]
    return FusedGroup(
        nodes=tuple(part.name for part in node.parts),
        vertical=any(linked),
        horizontal=not all(linked[1:]),
        ops=tuple(dict.fromkeys(".".join(n.op.split(".")[:2]) for n in node.nodes)),
        bytes_before=sum(sizes) if len(sizes) == len(node.parts) else None,
        bytes_after=node.size_bytes,
    )


def _linked(parts: Sequence[Part]) -> list[bool]:
    """Whether each part reads what an earlier part of the same group writes."""
    written: set[str] = set()
    linked = []
    for part in parts:
        linked.append(bool(part.reads & written))
        written |= part.writes
    return linked


def _nodes_behind(nodes: Iterable[ScheduledNode], calls: Sequence[Call]) -> list[list[ScheduledNode]]:
    """Each node at the first call that takes what it writes; else what it reads; else nowhere."""
    behind: list[list[ScheduledNode]] = [[] for _ in calls]
    takes: dict[str, list[int]] = {}
    for i, call in enumerate(calls):
        for buffer in call.buffers:
            takes.setdefault(buffer, []).append(i)
    for node in nodes:
        if node.ir in _NO_KERNEL:
            continue
        fitting = [i for i in _first_of(node.writes, takes) if _fits(node, calls[i])]
        fitting = fitting or [i for i in _all_of(node.reads, takes) if _fits(node, calls[i])]
        if fitting:
            behind[min(fitting)].append(node)
    return behind


def _first_of(names: Iterable[str], takes: Mapping[str, list[int]]) -> list[int]:
    return [takes[name][0] for name in names if name in takes]


def _all_of(names: Iterable[str], takes: Mapping[str, list[int]]) -> list[int]:
    return [i for name in names for i in takes.get(name, ())]


def _fits(node: ScheduledNode, call: Call) -> bool:
    return call.kernel == node.kernel if node.kernel else call.kind_from_line is None


def _kind(call: Call, nodes: Sequence[ScheduledNode]) -> str:
    if call.kind_from_line is not None:
        return call.kind_from_line
    if not call.triton:
        is_template = any(node.template for node in nodes)
        return kinds.CPP_TEMPLATE if is_template else kinds.CPP_LOOP
    if any(node.template for node in nodes):
        return kinds.TEMPLATE
    if any("Foreach" in node.type for node in nodes):
        return kinds.FOREACH
    by_name = kinds.of_triton_name(call.kernel)
    if nodes and not any(node.reduction for node in nodes) and by_name in (kinds.REDUCTION, kinds.PERSISTENT):
        return kinds.POINTWISE
    return by_name  # looped or persistent is decided in code generation: only the name tells


def _rows(text: str | None) -> list[Mapping[str, Any]]:
    try:
        rows = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _node(row: Mapping[str, Any], file_name: FileName) -> ScheduledNode:
    kernel = row.get("kernel")
    return ScheduledNode(
        type=str(row.get("type")),
        ir=str(row.get("ir")),
        kernel=kernel if isinstance(kernel, str) else None,
        template=bool(row.get("template")),
        reduction=bool(row.get("reduction")),
        device=str(row.get("device")),
        size_bytes=_int(row.get("bytes")),
        parts=tuple(_part(part) for part in _list(row.get("parts")) if isinstance(part, Mapping)),
        nodes=tuple(_fx_node(op, row.get("lines"), file_name) for op in _list(row.get("ops")) if _is_op(op)),
        lines=tuple(_line(place, file_name) for place in _list(row.get("lines")) if _is_place(place)),
    )


def _part(row: Mapping[str, Any]) -> Part:
    names = [frozenset(str(name) for name in _list(row.get(key))) for key in ("reads", "writes")]
    return Part(str(row.get("name")), names[0], names[1], _int(row.get("bytes")))


def _line(place: Sequence[Any], file_name: FileName) -> SourceLine:
    return SourceLine(file_name(place[0]) or "?", place[1], str(place[2]))


def _call(row: Mapping[str, Any]) -> Call | None:
    line, kernel = row.get("line"), row.get("kernel")
    device = row.get("device") if isinstance(row.get("device"), str) else None
    if line == "str":
        recognized = recognize(str(row.get("text")), {})
        return Call(recognized[0], recognized[1], False, None, ()) if recognized else None
    if not isinstance(kernel, str):
        return None
    if line == "KernelCallLine":
        return Call(
            kernel, None, bool(row.get("triton")), device, tuple(str(a) for a in _list(row.get("args")))
        )
    return Call(kernel, kinds.of_extern(kernel), False, device, (str(row.get("buffer")),))


def _fx_node(op: Sequence[Any], lines: Any, file_name: FileName) -> FxNode:
    """Name, operator, and since they are recorded the operator before decompositions and the line's index."""
    original, at = (*op[2:4], None, None)[:2]
    places = _list(lines)
    known = isinstance(at, int) and 0 <= at < len(places) and _is_place(places[at])
    return FxNode(
        str(op[0]),
        str(op[1]),
        original if isinstance(original, str) else None,
        _line(places[at], file_name) if known else None,
    )


def _is_op(value: Any) -> bool:
    return isinstance(value, list) and len(value) >= 2


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and isinstance(value[0], int)
        and isinstance(value[1], int)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
