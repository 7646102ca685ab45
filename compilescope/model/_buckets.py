"""What bucketed backends reported: events of their compiles, and the latest of each cumulative counter."""

from __future__ import annotations

from typing import Any

from compilescope.model import _fields as f
from compilescope.model.detail import BucketEvent, Dispatch
from compilescope.model.values import CompileId
from compilescope.recording import Record


class Buckets:
    def __init__(self) -> None:
        self._events: list[BucketEvent] = []
        self._counts: dict[tuple[Any, ...], Dispatch] = {}

    def event(self, record: Record, compile_id: CompileId | None) -> None:
        event = f.text(record.m.get("event"))
        if event is not None:
            self._events.append(BucketEvent(event, compile_id, record.m, record.t))

    def dispatched(self, record: Record) -> None:
        for backend, entry, rung, outcome, names, sizes, count in f.sequence(record.x.get("rows")):
            known = tuple(sizes) if isinstance(sizes, list) else None
            key = (backend, entry, rung, outcome, known)
            self._counts[key] = Dispatch(
                str(backend), int(entry), str(rung), str(outcome), tuple(map(str, names or ())), known, count
            )

    def finish(self) -> tuple[tuple[BucketEvent, ...], tuple[Dispatch, ...]]:
        return tuple(self._events), tuple(self._counts.values())
