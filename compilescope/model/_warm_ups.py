"""Calls that a bucketed model made itself, to warm up: taken out of the counters, which grew by them.

The counters are written before a warm-up calls the model and before it ends. What they grew by in between
is its own, in the graphs of its backend; those of other models go on. Within it nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from compilescope.model import _fields as f
from compilescope.model.values import CompileId, WarmUp
from compilescope.recording import Record

_Counts = dict[str, int]  # by size key; "" where a graph has no sizes
_KINDS = _GRAPH, _EAGER = "g", "e"
_Counter = tuple[str, int]  # which of the two, and the serial of the graph or of the code object


@dataclass(slots=True)
class _Calls:
    """``latest`` as counted; ``own`` of warm-ups that are over; ``before`` the one that goes on."""

    latest: _Counts = field(default_factory=dict)
    own: _Counts = field(default_factory=dict)
    before: _Counts | None = None

    def others(self, counts: _Counts) -> _Counts:
        counted = counts if self.before is None else self.before
        return {key: counted.get(key, 0) - self.own.get(key, 0) for key in counts}

    def end(self) -> None:
        if self.before is not None:
            for key, count in self.latest.items():
                grown = count - self.before.get(key, 0)
                if grown > 0:
                    self.own[key] = self.own.get(key, 0) + grown
            self.before = None


class WarmUps:
    """``add`` what comes in file order; ``without`` gives a record of counters without such calls."""

    def __init__(self) -> None:
        self._calls: dict[_Counter, _Calls] = {}
        self._backend_of: dict[_Counter, str] = {}
        self._backends: dict[CompileId, str] = {}
        self._open: dict[str, WarmUp] = {}
        self._done: list[WarmUp] = []

    def graph(self, record: Record, compile_id: CompileId | None) -> None:
        serial, backend = f.number(record.m.get("g")), f.text(record.m.get("backend"))
        if serial is None or backend is None:
            return
        if compile_id is not None:
            self._backends[compile_id] = backend
        self._backend_of[_GRAPH, serial] = backend

    def code(self, serial: int | None, compile_id: CompileId | None) -> None:
        """``compile_id`` was of this code object: calls of it that run eager are calls of the model."""
        backend = self._backends.get(compile_id) if compile_id is not None else None
        if serial is not None and backend is not None:
            self._backend_of[_EAGER, serial] = backend

    def event(self, record: Record, thread: str | None) -> None:
        ends, backend = record.m.get("ends"), f.text(record.m.get("backend"))
        if backend is None:
            return
        if not ends and backend not in self._open:
            self._open[backend] = WarmUp(backend, record.t, None, thread)
            for calls in self._of(backend):
                calls.before = dict(calls.latest)
        elif ends and backend in self._open:
            began = self._open.pop(backend)  # by a thread that was perhaps not named before it compiled
            self._done.append(replace(began, end_ns=record.t, thread=thread or began.thread))
            for calls in self._of(backend):
                calls.end()

    def without(self, record: Record) -> Record:
        """``record`` itself where no bucketed model has warmed up."""
        told = {kind: [self._row(kind, row) for row in f.sequence(record.x.get(kind))] for kind in _KINDS}
        if not self._done and not self._open:
            return record
        return msgspec.structs.replace(record, x={**record.x, **told})

    def finish(self) -> tuple[WarmUp, ...]:
        """In order of their ends. One that the process did not outlive has none."""
        return (*self._done, *self._open.values())

    def _row(self, kind: str, row: Any) -> Any:
        """``[serial, calls]``, or with calls by sizes and times."""
        if not isinstance(row, list) or len(row) < 2 or not _is_count(row[0]) or not _is_count(row[1]):
            return row
        sizes = row[2] if len(row) > 2 and isinstance(row[2], Mapping) else None
        counts = {key: n for key, n in (sizes or {"": row[1]}).items() if _is_count(n)}
        calls = self._calls.get((kind, row[0]))
        if calls is None:
            calls = self._calls[kind, row[0]] = _Calls()
            if self._backend_of.get((kind, row[0])) in self._open:
                calls.before = {}
        is_whole = len(row) > 2 or kind == _EAGER  # counters at a compile are told without their sizes
        if is_whole:
            calls.latest = counts
        others = calls.others(counts) if is_whole else {}
        whole = sum(others.values()) if is_whole else _less(row[1], calls)
        if len(row) == 2:
            return [row[0], whole]
        left = {key: n for key, n in others.items() if n > 0}
        times = [{k: each for k, each in f.mapping(timed).items() if k in left} for timed in row[3:4]]
        return [row[0], whole, None if sizes is None else left, *times]

    def _of(self, backend: str) -> list[_Calls]:
        return [calls for counter, calls in self._calls.items() if self._backend_of.get(counter) == backend]


def _less(counted: int, calls: _Calls) -> int:
    whole = counted if calls.before is None else sum(calls.before.values())
    return whole - sum(calls.own.values())


def _is_count(value: Any) -> bool:
    return type(value) is int
