"""Records that only a detailed report needs -> :class:`Detail`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from compilescope.model import _fields as f
from compilescope.model._compiles import Compiles
from compilescope.model._pace import PaceBuilder
from compilescope.model._phases import Phases
from compilescope.model.detail import (
    Detail,
    GuardEntry,
    GuardList,
    OpenStack,
    SizeSnapshot,
    SymbolCondition,
    SymbolMade,
)
from compilescope.model.inductor import ARTIFACTS as INDUCTOR_ARTIFACTS
from compilescope.model.inductor import KINDS as INDUCTOR_KINDS
from compilescope.model.inductor import Collector, Fact
from compilescope.model.values import CompileId, Location
from compilescope.recording import ProcessRecording, Record, Ref

MAX_SNAPSHOTS = 20_000
_REASONS = "compiled_autograd_compile_reasons"
ARTIFACTS = INDUCTOR_ARTIFACTS | {_REASONS}


class DetailBuilder:
    def __init__(self, source: ProcessRecording, file: f.FileName, compiles: Compiles) -> None:
        self._source = source
        self._is_log = source.kind == "torch_trace"
        self._file = file
        self._compiles = compiles
        self._symbols: list[SymbolMade] = []
        self._conditions: list[SymbolCondition] = []
        self._guards: dict[CompileId, GuardList] = {}
        self._phases = Phases()
        self._open: dict[int, tuple[Record, CompileId | None]] = {}
        self._threads: dict[int, str] = {}
        self._snapshots: list[SizeSnapshot] = []
        self._snapshots_seen = 0
        self._calls: dict[int, int] = {}
        self._call_times: dict[int, dict[str, tuple[int, float]]] = {}
        self._reasons: list[str] = []
        self._inductor = Collector()
        self._pace = PaceBuilder()
        self._latest: dict[int, Record] = {}
        self._handlers = {
            "create_symbol": self._symbol,
            "create_unbacked_symbol": self._symbol,
            "guard_added_fast": self._condition,
            "guards": self._guard_list,
            "phases": self._phase_rows,
            "open": self._open_phases,
            "runs": self._runs,
            "thread": self._thread,
            "artifact": self._artifact,
            "runs_at_compile": self._runs_at_compile,
            "step": self._step,
        }

    @property
    def kinds(self) -> frozenset[str]:
        """Of the records that something is taken from."""
        return INDUCTOR_KINDS | frozenset(self._handlers)

    @property
    def snapshots_read(self) -> tuple[int, int]:
        """How many were kept, and how many there are."""
        return len(self._snapshots), self._snapshots_seen

    def add(self, record: Record) -> None:
        if record.th is not None and record.c is not None:
            self._latest[record.th] = record
        handler = self._handlers.get(record.k)
        if handler is not None:
            handler(record)
        if record.k in INDUCTOR_KINDS:
            self._inductor.add(self._fact(record))

    def _fact(self, record: Record) -> Fact:
        value, text = record.p, self._source.text
        rows = f.sequence(record.x.get("rows")) if record.k == "phases" else ()
        c = record.c
        if self._is_log and c is not None and len(c) > 2:  # its epochs are inferred, not written in it
            compile_id = self._compiles.id_of(record)
            c = (*c[:3], compile_id.epoch) if compile_id is not None else c
        return Fact(record.k, c, record.m, lambda: text(value), record.ca, rows)

    def _symbol(self, record: Record) -> None:
        compile_id, m = self._compiles.id_of(record), record.m
        symbol = f.text(m.get("symbol"))
        if compile_id is not None and symbol is not None:
            made = SymbolMade(
                compile_id,
                symbol,
                f.text(m.get("source")),
                _number(m.get("val")),
                f.text(m.get("vr")),
                self._innermost(m),
                record.k == "create_symbol",
            )
            self._symbols.append(made)

    def _condition(self, record: Record) -> None:
        compile_id, expr = self._compiles.id_of(record), self._source.text(record.m.get("expr"))
        if compile_id is not None and expr is not None:
            self._conditions.append(SymbolCondition(compile_id, expr, self._innermost(record.m)))

    def _innermost(self, m: Mapping[str, Any]) -> Location | None:
        return f.innermost(m.get("user_stack"), self._file)

    def _guard_list(self, record: Record) -> None:
        compile_id = self._compiles.id_of(record)
        if compile_id is not None:
            payload = record.p
            self._guards[compile_id] = GuardList(
                f.number(record.m.get("count")),
                f.seconds(record.m.get("hot_check_us")),
                lambda: self._read_guards(payload),
            )

    def _read_guards(self, payload: Ref | None) -> tuple[GuardEntry, ...]:
        try:
            rows = json.loads(self._source.text(payload) or "[]")
        except (ValueError, RecursionError):
            return ()
        return tuple(self._guard_entry(row) for row in f.sequence(rows) if _is_guard(row))

    def _guard_entry(self, row: Any) -> GuardEntry:
        lines = f.call(row[3], self._file)
        return GuardEntry(
            row[0],
            tuple(str(kind) for kind in row[1]),
            f.text(row[2]),
            lines[0] if lines else None,
            lines[1:],
        )

    def _phase_rows(self, record: Record) -> None:
        t0, th = f.number(record.x.get("t0")), f.number(record.x.get("th"))
        thread = record.th if th is None else th
        if t0 is not None and thread is not None:
            self._phases.add(thread, t0, f.sequence(record.x.get("rows")), self._compiles.epoch)

    def _open_phases(self, record: Record) -> None:
        th = f.number(record.x.get("th"))
        thread = record.th if th is None else th
        if thread is not None:
            latest = self._latest.get(thread)
            self._open[thread] = (record, self._compiles.id_of(latest) if latest is not None else None)

    def _thread(self, record: Record) -> None:
        ident, name = f.number(record.m.get("ident")), f.text(record.m.get("name"))
        if ident is not None and name is not None:
            self._threads[ident] = name

    def _runs(self, record: Record) -> None:
        self._pace.counted(record.t, f.sequence(record.x.get("g")))
        for row in f.sequence(record.x.get("g")):
            counts = {key: n for key, n in f.mapping(row[2]).items() if f.number(n) is not None}
            if not counts and f.number(row[1]) is not None:
                counts = {"": row[1]}
            if not counts or f.number(row[0]) is None:
                continue
            self._snapshots_seen += 1
            if len(self._snapshots) < MAX_SNAPSHOTS:
                self._snapshots.append(SizeSnapshot(record.t, row[0], counts))
            times = f.mapping(row[3]) if len(row) > 3 else {}
            for key, pair in times.items():
                taken, median_us = (*f.sequence(pair), None, None)[:2]
                if f.number(row[0]) is not None and f.number(taken) and f.seconds(median_us) is not None:
                    self._call_times.setdefault(row[0], {})[key] = (taken, float(median_us))
        for serial, calls in f.sequence(record.x.get("i")):
            if f.number(serial) is not None and f.number(calls) is not None:
                self._calls[serial] = calls

    def _runs_at_compile(self, record: Record) -> None:
        self._pace.at_compile(record.t, f.sequence(record.x.get("g")))

    def _step(self, record: Record) -> None:
        self._pace.step(record.m)

    def _artifact(self, record: Record) -> None:
        if record.m.get("name") == _REASONS:
            self._reasons += _reasons(self._source.text(record.p) or "")

    def finish(self) -> Detail:
        sums, roots_s = self._phases.finish()
        return Detail(
            symbols=tuple(self._symbols),
            conditions=tuple(self._conditions),
            guards=self._guards,
            phases=sums,
            roots_s=roots_s,
            open=tuple(self._still_open()),
            snapshots=tuple(self._snapshots),
            call_times=self._call_times,
            inductor=self._inductor.finish(),
            inductor_calls=self._calls,
            autograd_reasons=tuple(self._reasons),
            files=self._file,
            pace=self._pace.finish(),
        )

    def _still_open(self) -> list[OpenStack]:
        found = []
        for thread, (record, compile_id) in self._open.items():
            stack = tuple((str(row[0]), row[1]) for row in f.sequence(record.stack) if _is_open(row))
            if stack and self._phases.closed_us.get(thread, 0) < stack[0][1]:
                found.append(OpenStack(self._threads.get(thread), stack, record.t, compile_id))
        return found


def _is_guard(row: Any) -> bool:
    return isinstance(row, list) and len(row) >= 4 and isinstance(row[0], str) and isinstance(row[1], list)


def _is_open(row: Any) -> bool:
    return isinstance(row, list) and len(row) >= 2 and f.number(row[1]) is not None


def _number(value: Any) -> int | float | None:
    """Torch writes hints as text. What is no finite number is none: JSON has no word for it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    for kind in (int, float):
        try:
            found = kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
        return found if isinstance(found, int) or math.isfinite(found) else None
    return None


def _reasons(payload: str) -> list[str]:
    try:
        parsed = json.loads(payload)
    except (ValueError, RecursionError):
        return [payload] if payload else []
    return [str(reason) for reason in (parsed if isinstance(parsed, list) else [parsed])]
