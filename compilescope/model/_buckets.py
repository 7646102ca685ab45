"""What bucketed backends reported: events of their compiles, and the latest of each cumulative counter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compilescope.model import _fields as f
from compilescope.model.detail import BucketEvent, Dispatch
from compilescope.model.values import CompileId
from compilescope.recording import Record

_OF_MAPPINGS = ("inputs", "symbols")
_FLAGS = ("of_backward",)
_NUMBERS = ("entry", "kernels", "replay_bytes", "pool_bytes", "graphs")
_OF_TEXTS = ("predicate", "random")
_LISTS = (*_OF_MAPPINGS, *_OF_TEXTS, "sizes", "hints", "copied_bytes")


class Buckets:
    def __init__(self) -> None:
        self._events: list[BucketEvent] = []
        self._counts: dict[tuple[Any, ...], Dispatch] = {}

    def event(self, record: Record, compile_id: CompileId | None) -> None:
        event = f.text(record.m.get("event"))
        if event is not None:
            self._events.append(BucketEvent(event, compile_id, _checked(record.m), record.t))

    def dispatched(self, record: Record) -> None:
        for row in f.sequence(record.x.get("rows")):
            backend, entry, rung, outcome, names, sizes, count = row
            if f.number(entry) is None or f.number(count) is None:
                continue
            known = tuple(sizes) if _is_of(sizes, int) else None
            self._counts[(backend, entry, rung, outcome, known)] = Dispatch(
                str(backend), entry, str(rung), str(outcome), tuple(map(str, f.sequence(names))), known, count
            )

    def finish(self) -> tuple[tuple[BucketEvent, ...], tuple[Dispatch, ...]]:
        return tuple(self._events), tuple(self._counts.values())


def _checked(m: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the types the protocol gives them; one of another type is absent."""
    checked: dict[str, Any] = {name: f.text(m.get(name)) for name in m if name not in _LISTS}
    checked |= {name: f.number(m.get(name)) for name in _NUMBERS}
    checked |= {name: m[name] for name in _FLAGS if isinstance(m.get(name), bool)}
    checked |= {name: f.seconds(m.get(name)) for name in ("wall_s", "difference")}
    return checked | {name: _rows(name, m.get(name)) for name in _LISTS}


def _rows(name: str, value: Any) -> list[Any]:
    rows = f.sequence(value)
    if name in _OF_MAPPINGS:
        return [row for row in rows if isinstance(row, Mapping)]
    if name in _OF_TEXTS:
        return [row for row in rows if isinstance(row, str)]
    if name == "copied_bytes":
        return [row for row in rows if _is_term(row)]
    return [row for row in rows if isinstance(row, list) and row and isinstance(row[0], str)]


def _is_term(row: Any) -> bool:
    """A factor, and the names whose sizes it is multiplied with."""
    return isinstance(row, list) and len(row) == 2 and type(row[0]) is int and _is_of(row[1], str)


def _is_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)
