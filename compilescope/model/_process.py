"""One process: records in file order -> a frozen Process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from compilescope.model import _facts as facts
from compilescope.model import _fields as f
from compilescope.model._buckets import Buckets
from compilescope.model._compiles import Compiles
from compilescope.model._detail import ARTIFACTS, DetailBuilder
from compilescope.model._graphs import Graphs
from compilescope.model._kinds import UNINTERPRETED
from compilescope.model._warm_ups import WarmUps
from compilescope.model.values import (
    BreakEvent,
    CacheEvent,
    CompiledTwice,
    CompileId,
    CompileTarget,
    Conversion,
    GuardFailure,
    Hole,
    Limit,
    LogLine,
    PgoLookup,
    Process,
    Specialized,
)
from compilescope.recording import ProcessRecording, Record, Selection

_CACHES = {"fx_graph_cache": "fx_graph", "aotautograd_cache": "aot_autograd"}
_CACHE_OUTCOMES = ("hit", "miss", "bypass")
_PROFILES = ("get_local_code_state", "get_remote_code_state", "get_extra_remote_code_state")
_ARTIFACTS = frozenset(
    (
        *_PROFILES,
        "dynamo_graph_break_reason",
        "recompile_reasons",
        "dynamo_error",
        *(f"{cache}_{outcome}" for cache in _CACHES for outcome in _CACHE_OUTCOMES),
    )
)
_MAX_LOGS = 200
_MAX_TARGETS = 500


class ProcessBuilder:
    """Feed records with ``add``; ``finish`` gives the Process. A malformed record becomes a hole.

    Only records it has :meth:`wanted` are needed. Without ``detail``, ``Process.detail`` is None.
    """

    def __init__(self, source: ProcessRecording, *, detail: bool = True) -> None:
        self._source = source
        self._file = file_names(source)
        self._compiles = Compiles(source, self._file)
        self._detail = DetailBuilder(source, self._file, self._compiles) if detail else None
        self._buckets = Buckets()
        self._warm_ups = WarmUps()
        self._graphs = Graphs(self._file, counts=source.kind == "recording")
        self._breaks: list[BreakEvent] = []
        self._failures: list[GuardFailure] = []
        self._limits: list[Limit] = []
        self._conversions: list[Conversion] = []
        self._caches: list[CacheEvent] = []
        self._specialized: list[Specialized] = []
        self._pgo: list[PgoLookup] = []
        self._profiles: list[str] = []  # found, as torch's own trace tells: of a miss it says nothing
        self._autograd: list[int] = []
        self._twice: list[CompiledTwice] = []
        self._eager: dict[int, int] = {}
        self._module_sources: dict[tuple[int, int], frozenset[str]] = {}
        self._stances: list[str] = []
        self._compile_calls = self._targets_seen = self._logs_seen = 0
        self._targets: list[CompileTarget] = []
        self._logs: list[LogLine] = []
        self._lost: Counter[str] = Counter()
        self._sources: dict[str, str] = {}
        self._unknown: Counter[str] = Counter()
        self._holes: list[Hole] = []
        self._late_facts: dict[str, Any] = {}
        self._ended: str | None = None
        self._last_ns: int | None = None
        self._counts_ns: int | None = None
        self._handlers: dict[str, Callable[[Record], None]] = {
            "dynamo_start": self._compiles.start,
            "compilation_metrics": self._compiles.metrics,
            "bwd_compilation_metrics": self._compiles.backward_metrics,
            "dynamo_output_graph": self._output_graph,
            "graph": self._graph,
            "artifact": self._artifact,
            "guard_fail": self._guard_fail,
            "convert": self._convert,
            "late": self._convert,
            "limit": self._limit,
            "runs": self._runs,
            "guards": self._guards,
            "symbolic_shape_specialization": self._specialization,
            "compiled_autograd_graph": self._autograd_graph,
            "stance": lambda r: self._stances.append(str(r.m.get("stance"))),
            "compile_call": self._compile_call,
            "compile_target": self._target,
            "log": self._log,
            "thread": self._compiles.thread,
            "lost": self._lose,
            "source": self._keep_source,
            "process": lambda r: self._late_facts.update(r.m or r.x),
            "pgo": self._profile,
            "autotune": self._autotune,
            "bucket": lambda r: self._buckets.event(r, self._id(r)),
            "warm_up": lambda r: self._warm_ups.event(r, self._compiles.thread_of(r)),
            "dispatch": self._buckets.dispatched,
            "end": self._end,
        }

    def wanted(self) -> Selection:
        """The records that something is taken from."""
        kinds, names = frozenset(("name", *self._handlers)), _ARTIFACTS  # a source learns names as they pass
        if self._detail is not None:
            kinds, names = kinds | self._detail.kinds, names | ARTIFACTS
        return Selection(kinds, {"artifact": names})

    def passed_over(self, selection: Selection) -> None:
        """What the reader says of records it did not show."""
        self._seen(selection.last_ns)
        for kind, times in selection.passed.items():
            self._know(kind, times)

    def _seen(self, time_ns: int | None) -> None:
        if time_ns is not None:
            self._last_ns = max(self._last_ns or 0, time_ns)

    def _know(self, kind: str, times: int) -> None:
        if kind not in self._handlers and kind not in UNINTERPRETED:
            self._unknown[kind] += times

    def add(self, record: Record) -> None:
        self._seen(record.t)
        handler = self._handlers.get(record.k)
        if handler is None:
            self._know(record.k, 1)
        try:
            if record.k in ("runs", "runs_at_compile"):
                record = self._warm_ups.without(record)
            if handler is not None:
                handler(record)
            if self._detail is not None:
                self._detail.add(record)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as e:
            where = f"{self._source.id}:{record.offset}"
            self._holes.append(Hole("bad_record", where, f"{record.k}: {type(e).__name__}: {e}"))

    def _id(self, record: Record) -> CompileId | None:
        return self._compiles.id_of(record)

    def _output_graph(self, record: Record) -> None:
        compile_id = self._id(record)
        if compile_id:
            self._graphs.traced(compile_id)

    def _graph(self, record: Record) -> None:
        compile_id = self._id(record)
        self._warm_ups.graph(record, compile_id)
        if compile_id:
            self._graphs.handed_over(compile_id, record.m, record.t)

    def _artifact(self, record: Record) -> None:
        name = f.text(record.m.get("name")) or ""
        if name == "dynamo_graph_break_reason":
            text = self._source.text(record.p) or ""
            self._breaks.append(BreakEvent(self._id(record), text, record.t, record.th))
        elif name == "recompile_reasons":
            self._compiles.reasons(record, facts.reasons(self._source.text(record.p) or ""))
        elif name in _PROFILES:
            self._profiles.append(name)
        elif name == "dynamo_error":
            self._compiles.error(record, self._source.text(record.p))
        else:
            prefix, _, outcome = name.rpartition("_")
            if prefix in _CACHES and outcome in _CACHE_OUTCOMES:
                self._caches.append(CacheEvent(_CACHES[prefix], outcome, self._id(record)))

    def _profile(self, record: Record) -> None:
        found = facts.pgo(record.m)
        if found is not None:
            self._pgo.append(found)

    def _autotune(self, record: Record) -> None:
        found = facts.compiled_twice(record.m, self._id(record))
        if found is not None:
            self._twice.append(found)

    def _guard_fail(self, record: Record) -> None:
        compile_id = self._id(record)
        if compile_id:
            self._failures.append(facts.guard_failure(self._source, record, compile_id))

    def _guards(self, record: Record) -> None:
        """Only of the first compile of a frame: its later ones are given the same kinds of objects."""
        compile_id = self._id(record)
        if compile_id is not None and compile_id.recompile == 0:
            found = facts.module_sources(self._source, record)
            if found:
                self._module_sources[(compile_id.epoch, compile_id.frame)] = found

    def _convert(self, record: Record) -> None:
        conversion = facts.conversion(self._source, record, self._id(record))
        if conversion is None:
            return
        self._conversions.append(conversion)
        self._warm_ups.code(conversion.code_serial, conversion.compile)
        if conversion.compile and conversion.outcome != "skipped":
            self._compiles.place(conversion.compile, conversion.code, conversion.call)

    def _limit(self, record: Record) -> None:
        limit = facts.limit(self._source, record, self._id(record))
        if limit:
            self._limits.append(limit)

    def _runs(self, record: Record) -> None:
        self._counts_ns = record.t or self._counts_ns
        self._graphs.counted(f.sequence(record.x.get("g")))
        for serial, calls in f.sequence(record.x.get("e")):
            if f.number(serial) is not None and f.number(calls) is not None:
                self._eager[serial] = calls

    def _specialization(self, record: Record) -> None:
        self._specialized.append(facts.specialized(self._source, record, self._id(record)))

    def _autograd_graph(self, record: Record) -> None:
        self._autograd.append(record.ca if record.ca is not None else len(self._autograd))

    def _compile_call(self, _: Record) -> None:
        self._compile_calls += 1

    def _target(self, record: Record) -> None:
        self._targets_seen += 1
        if len(self._targets) < _MAX_TARGETS:
            self._targets.append(facts.target(self._source, record))

    def _log(self, record: Record) -> None:
        self._logs_seen += 1
        if len(self._logs) < _MAX_LOGS:
            self._logs.append(facts.log_line(self._source, record))

    def _lose(self, record: Record) -> None:
        fields = record.m or record.x
        self._lost[str(fields.get("why"))] = max(
            self._lost[str(fields.get("why"))], f.number(fields.get("n")) or 1
        )

    def _keep_source(self, record: Record) -> None:
        path, text = f.text(record.m.get("path")), self._source.text(record.p)
        if path and text is not None:
            self._sources[path] = text

    def _end(self, record: Record) -> None:
        self._ended = f.text((record.m or record.x).get("how"))

    def finish(self) -> Process:
        head = {**self._source.head, **self._late_facts}
        versions = {str(k): str(v) for k, v in f.mapping(head.get("versions")).items() if v is not None}
        holes = [Hole(d.kind, d.where, d.detail) for d in self._source.damage]
        complete, compiles = self._source.complete, self._compiles.finish()
        counted_ns = float("inf") if complete else self._counts_ns
        bucket_events, dispatches = self._buckets.finish()
        return Process(
            id=self._source.id,
            kind=self._source.kind,
            pid=f.number(head.get("pid")),
            ppid=f.number(head.get("ppid")),
            rank=f.number(head.get("rank")),
            world_size=f.number(head.get("world_size")),
            device=f.text(head.get("device")),
            versions=versions,
            argv=tuple(str(a) for a in f.sequence(head.get("argv"))),
            cwd=f.text(head.get("cwd")),
            env=tuple(str(name) for name in f.sequence(head.get("env"))),
            config=f.mapping(head.get("config")),
            hooks={str(k): str(v) for k, v in f.mapping(head.get("hooks")).items()},
            late=bool(head.get("late")),
            complete=complete,
            ended=self._ended,
            start_ns=f.number(head.get("start_ns")),
            last_ns=self._last_ns,
            counts_ns=self._counts_ns,
            compiles=compiles,
            backward_spans=tuple(self._compiles.backward_spans),
            module_sources=self._module_sources,
            graphs=self._graphs.finish(compiles, counted_ns if self._source.kind == "recording" else None),
            breaks=tuple(self._breaks),
            guard_failures=tuple(self._failures),
            limits=tuple(self._limits),
            conversions=tuple(self._conversions),
            caches=tuple(self._caches),
            specialized=tuple(self._specialized),
            pgo=tuple(self._pgo or (PgoLookup("hit", None, None, None, None) for _ in self._profiles)),
            remote_caches=self._compiles.remote_caches,
            autograd_graphs=tuple(self._autograd),
            compiled_twice=tuple(self._twice),
            eager_calls=self._eager,
            stances=tuple(self._stances),
            compile_calls=self._compile_calls,
            targets=tuple(self._targets),
            logs=tuple(self._logs),
            lost=dict(self._lost),
            sources=self._sources,
            unknown=dict(self._unknown),
            holes=(*holes, *self._holes),
            bucket_events=bucket_events,
            dispatches=dispatches,
            warm_ups=self._warm_ups.finish(),
            detail=self._detail.finish() if self._detail is not None else None,
            unread=self._unread(),
        )

    def _unread(self) -> dict[str, tuple[int, int]]:
        found = {
            "warnings": (len(self._logs), self._logs_seen),
            "places where torch.compile was asked for": (len(self._targets), self._targets_seen),
        }
        if self._detail is not None:
            found["snapshots of sizes"] = self._detail.snapshots_read
        return {what: (read, seen - read) for what, (read, seen) in found.items() if seen > read}


def file_names(source: ProcessRecording) -> f.FileName:
    """``source.file`` with a memory, so that an id without a name is looked for once."""
    known: dict[int | None, str | None] = {}

    def name(number: int | None) -> str | None:
        if number not in known:
            known[number] = source.file(number)
        return known[number]

    return name
