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
    """``latest`` as counted, a row; ``own`` of warm-ups that are over; ``before`` the one that goes on."""

    latest: Any = None
    own: _Counts = field(default_factory=dict)
    before: _Counts | None = None

    def begin(self) -> None:
        self.before = _counts(self.latest)

    def end(self) -> None:
        if self.before is not None:
            for key, count in _counts(self.latest).items():
                grown = count - self.before.get(key, 0)
                if grown > 0:
                    self.own[key] = self.own.get(key, 0) + grown
            self.before = None

    def others(self, row: Any) -> _Counts:
        """``row`` without them, and without what one that goes on has added so far."""
        counts = _counts(row)
        counted = counts if self.before is None else self.before
        return {key: counted.get(key, 0) - self.own.get(key, 0) for key in counts}

    def whole(self, counted: int) -> int:
        """The same of a sum."""
        return (counted if self.before is None else sum(self.before.values())) - sum(self.own.values())


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
                calls.begin()
        elif ends and backend in self._open:
            began = self._open.pop(backend)  # by a thread that was perhaps not named before it compiled
            self._done.append(replace(began, end_ns=record.t, thread=thread or began.thread))
            for calls in self._of(backend):
                calls.end()

    def without(self, record: Record) -> Record:
        """``record`` itself where no bucketed model has warmed up."""
        counters = [(kind, row) for kind in _KINDS for row in f.sequence(record.x.get(kind)) if _is_row(row)]
        for kind, row in counters:
            calls = self._calls_of((kind, row[0]))
            if record.k == "runs":
                calls.latest = row
        if not self._done and not self._open:
            return record
        told: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
        for kind, row in counters:
            told[kind].append(_less(row, self._calls[kind, row[0]], with_sizes=record.k == "runs"))
        return msgspec.structs.replace(record, x={**record.x, **told})

    def finish(self) -> tuple[WarmUp, ...]:
        """In order of their ends. One that the process did not outlive has none."""
        return (*self._done, *self._open.values())

    def _calls_of(self, counter: _Counter) -> _Calls:
        calls = self._calls.get(counter)
        if calls is None:
            calls = self._calls[counter] = _Calls()
            if self._backend_of.get(counter) in self._open:
                calls.begin()
        return calls

    def _of(self, backend: str) -> list[_Calls]:
        return [calls for counter, calls in self._calls.items() if self._backend_of.get(counter) == backend]


def _less(row: Any, calls: _Calls, *, with_sizes: bool) -> Any:
    """``[serial, calls]``, or with calls by sizes and times."""
    if not with_sizes:
        return [row[0], calls.whole(row[1])]
    others = calls.others(row)
    left = {key: n for key, n in others.items() if n > 0}
    sizes = [None if each is None else left for each in row[2:3]]
    times = [{key: each for key, each in f.mapping(timed).items() if key in left} for timed in row[3:4]]
    return [row[0], sum(others.values()), *sizes, *times]


def _counts(row: Any) -> _Counts:
    if row is None:
        return {}
    sizes = row[2] if len(row) > 2 and isinstance(row[2], Mapping) else None
    return {key: n for key, n in (sizes or {"": row[1]}).items() if type(n) is int}


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) > 1 and type(row[0]) is int and type(row[1]) is int
