"""Counters to disk while the program runs, so that a SIGKILL loses little and order in time survives.

One bare thread, started at the first compiled graph. It is not a ``threading.Thread``: the program's own
``threading.enumerate()`` must not change. Snapshots are cumulative and name only what changed.
"""

from __future__ import annotations

import _thread
import time
from typing import Any

from compilescope.capture._buckets import Buckets
from compilescope.capture._eager_calls import EagerCalls
from compilescope.capture._fx_graphs import FxGraphs
from compilescope.capture._graphs import Graphs
from compilescope.capture._session import Session
from compilescope.capture._trace import TraceHandler

SHORTEST_S = 0.5
LONGEST_S = 2.0
BYTES_PER_SECOND = (
    4000  # a run with hundreds of busy graphs writes snapshots less often instead of gigabytes a day
)
CEILING_S = 60.0
MOST_AT_COMPILE = 512  # graphs: walking more of them at each compile would be felt


class Ticks:
    def __init__(
        self,
        session: Session,
        graphs: Graphs,
        fx_graphs: FxGraphs,
        buckets: Buckets,
        eager: EagerCalls,
        trace: TraceHandler,
    ) -> None:
        self._session = session
        self._graphs = graphs
        self._fx_graphs = fx_graphs
        self._buckets = buckets
        self._eager = eager
        self._trace = trace
        self._lock = _thread.allocate_lock()
        self._running = False
        self._written: dict[Any, int] = {}
        self._described: set[Any] = set()
        self._at_compile: dict[Any, int] = {}
        self._inherited = self._inherited_fx = 0
        self._inherited_refusals: set[int] = set()
        self._open: dict[int, list[list[Any]]] = {}
        self._started = time.monotonic()
        self._last_bytes = 0

    def start(self) -> None:
        if not self._running:
            self._running = True
            _thread.start_new_thread(self._run, (self._session,))

    def _run(self, session: Session) -> None:
        while session.active and self._running:
            time.sleep(self._interval())
            if session.active and self._running:
                session.safely(self.snapshot)
                session.safely(self._open_phases)

    def _interval(self) -> float:
        elapsed = time.monotonic() - self._started
        usual = min(max(elapsed / 100, SHORTEST_S), LONGEST_S)
        return min(max(usual, self._last_bytes / BYTES_PER_SECOND), CEILING_S)

    def snapshot(self) -> None:
        """Write the counts of every graph and refused code object that ran since the last snapshot."""
        with self._lock:
            self._write_dispatches()
            graphs = [c for c in list(self._graphs.counters) if self._changed(c.serial, c.calls())]
            for counter in graphs:
                if counter.serial < self._inherited and counter.serial not in self._described:
                    self._described.add(counter.serial)
                    self._graphs.write(counter, inherited=True)
            eager = [
                [serial, n]
                for serial, n in list(self._eager.counts.items())
                if self._changed(("e", serial), n)
            ]
            self._name_inherited_refusals(eager)
            backward = self._inductor_rows()
            if graphs or eager or backward:
                rows = [counter.row() for counter in graphs]
                self._last_bytes = 60 * len(rows) + 16 * sum(len(row[2] or ()) for row in rows)
                self._session.writer.record("runs", {"g": rows, "e": eager, "i": backward})

    def at_compile(self, compile_id: Any) -> None:
        """Write how often everything had run when a compile came: that is the step it belongs to."""
        counters = list(self._graphs.counters)
        if len(counters) > MOST_AT_COMPILE:
            if self._is_new("capped", 1):
                self._session.writer.record("runs_at_compile", {"capped": True}, c=compile_id)
            return
        graphs = [[c.serial, n] for c in counters if self._is_new(c.serial, n := c.calls())]
        eager = [[s, n] for s, n in list(self._eager.counts.items()) if self._is_new(("e", s), n)]
        if graphs or eager or self._is_new("first", 1):  # the first says that they are written at all
            self._session.writer.record("runs_at_compile", {"g": graphs, "e": eager}, c=compile_id)

    def _is_new(self, key: Any, value: int) -> bool:
        known = self._at_compile.get(key, 0)
        self._at_compile[key] = value
        return known != value

    def _write_dispatches(self) -> None:
        rows = [[*key, count] for key, count in self._buckets.counts() if self._changed(("d", key), count)]
        if rows:
            self._session.writer.record("dispatch", {"rows": rows})

    def _name_inherited_refusals(self, eager: list[list[int]]) -> None:
        for serial, _ in eager:
            if serial in self._inherited_refusals:
                self._inherited_refusals.discard(serial)
                self._eager.on_inherited(serial)

    def _inductor_rows(self) -> list[list[int]]:
        changed = [g for g in list(self._fx_graphs.counters) if self._changed(("i", g.serial), g.cell[0])]
        for graph in changed:
            if graph.serial < self._inherited_fx and ("i", graph.serial) not in self._described:
                self._described.add(("i", graph.serial))
                self._fx_graphs.write(graph, inherited=True)
        return [[graph.serial, graph.cell[0]] for graph in changed]

    def _changed(self, key: Any, value: int) -> bool:
        if self._written.get(key, 0) == value:
            return False
        self._written[key] = value
        return True

    def _open_phases(self) -> None:
        """What is being compiled now, if it takes long: the last such record says where a killed run was."""
        for thread, stack in self._trace.open_phases().items():
            if stack != self._open.get(thread):
                self._session.writer.record("open", {"th": thread, "stack": stack})
            self._open[thread] = stack

    def stop(self) -> None:
        self._running = False

    def forked(self) -> None:
        """In a forked child: a new lock, no thread yet, counts from zero. Its graphs came from the parent."""
        self._lock = _thread.allocate_lock()
        self._running = False
        self._written.clear()
        self._at_compile.clear()
        self._described.clear()
        self._inherited = len(self._graphs.counters)
        self._inherited_fx = len(self._fx_graphs.counters)
        for graph in self._fx_graphs.counters:
            graph.cell[0] = 0
        for counter in self._graphs.counters:
            counter.clear()
        self._inherited_refusals = set(self._eager.counts)
        self._eager.clear()
