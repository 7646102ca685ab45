"""Compiles keyed by (epoch, compile id): attempts folded, backward compiles added to their forward."""

from __future__ import annotations

from collections.abc import Mapping

from compilescope.model import _fields as f
from compilescope.model._drafts import CompileDraft
from compilescope.model.values import Compile, CompileId, Location
from compilescope.recording import ProcessRecording, Record

_PHASES = {
    "dynamo_cumulative_compile_time_us": "dynamo",
    "aot_autograd_cumulative_compile_time_us": "aot_autograd",
    "inductor_cumulative_compile_time_us": "inductor",
    "inductor_code_gen_cumulative_compile_time_us": "code_gen",
    "triton_compile_time_us": "triton",
    "backward_cumulative_compile_time_us": "backward",
}

_REMOTE = {
    "inductor_fx_remote_cache_hit_count": ("fx_graph", "hit"),
    "inductor_fx_remote_cache_miss_count": ("fx_graph", "miss"),
    "aotautograd_remote_cache_hit_count": ("aot_autograd", "hit"),
    "aotautograd_remote_cache_miss_count": ("aot_autograd", "miss"),
}


class Compiles:
    def __init__(self, source: ProcessRecording, file: f.FileName) -> None:
        self._file = file
        self._text = source.text
        self._threads: dict[int, str] = {}
        self._infer_epochs = source.kind == "torch_trace"
        self._epoch = 0
        self._drafts: dict[CompileId, CompileDraft] = {}
        self._autograd: dict[
            tuple[int, int], int
        ] = {}  # frames compiled autograd made; not every record says so
        self.remote_caches: dict[str, dict[str, int]] = {}
        self.backward_spans: list[tuple[int, int]] = []

    def id_of(self, record: Record) -> CompileId | None:
        c = record.c
        if not c or c[0] is None or c[1] is None:
            return None
        epoch = self._epoch if self._infer_epochs or len(c) < 4 else c[3] or 0
        autograd = record.ca if record.ca is not None else self._autograd.get((epoch, c[0]), -1)
        return CompileId(epoch, c[0], c[1], autograd)

    @property
    def epoch(self) -> int:
        """Of the latest compile begun."""
        return self._epoch

    def begin(self, record: Record) -> CompileId | None:
        """The id of a compile that starts here, from which :meth:`id_of` tells later records' ids."""
        compile_id = self.id_of(record)
        if compile_id is None:
            return None
        self._epoch = max(self._epoch, compile_id.epoch)
        attempt = record.c[2] if record.c and len(record.c) > 2 else 0
        known = self._drafts.get(compile_id)
        if self._infer_epochs and not attempt and known and known.started:
            # A reset leaves no event in a raw log: a first attempt under a used number is a new epoch.
            self._epoch += 1
            compile_id = CompileId(self._epoch, compile_id.frame, compile_id.recompile, compile_id.autograd)
        self._autograd[(compile_id.epoch, compile_id.frame)] = compile_id.autograd
        self._draft(compile_id).started = True
        return compile_id

    def start(self, record: Record) -> None:
        compile_id = self.begin(record)
        if compile_id is None:
            return
        draft = self._draft(compile_id)
        draft.stack = f.stack(record.m.get("stack"), self._file)
        draft.call = draft.call or f.call(record.x.get("call"), self._file) or draft.stack[-2::-1]
        draft.thread = self.thread_of(record)
        draft.start_ns = draft.start_ns or record.t

    def thread(self, record: Record) -> None:
        """The name behind a thread's ident from here on: Python gives idents of ended threads to new ones."""
        ident, name = f.number(record.m.get("ident")), f.text(record.m.get("name"))
        if ident is not None and name is not None:
            self._threads[ident] = name

    def thread_of(self, record: Record) -> str | None:
        return self._threads.get(record.th) if record.th is not None else None

    def metrics(self, record: Record) -> None:
        compile_id, m = self.id_of(record), record.m
        if compile_id is None:
            return
        draft = self._draft(compile_id)
        code = f.location(m.get("co_filename"), m.get("co_firstlineno"), m.get("co_name"))
        draft.code = code or draft.code
        draft.thread = draft.thread or self.thread_of(record)
        draft.wall_s = f.seconds(m.get("duration_us"), 1e-6) or f.seconds(
            m.get("entire_frame_compile_time_s")
        )
        draft.start_ns = _ns(m.get("start_time_us")) or draft.start_ns
        draft.end_ns = _ns(m.get("end_time_us")) or record.t
        draft.ops = f.number(m.get("graph_op_count"))
        draft.cache_size = f.number(m.get("cache_size"))
        draft.guard_count = f.number(m.get("guard_count"))
        draft.guard_latency_us = f.seconds(m.get("guard_latency_us"))
        draft.has_code = bool(m.get("has_guarded_code"))
        draft.fail_type, draft.fail_reason = f.text(m.get("fail_type")), self._text(m.get("fail_reason"))
        draft.fail_location = f.location(
            m.get("fail_user_frame_filename"), m.get("fail_user_frame_lineno"), None
        )
        self._phases(draft, m)
        self._remote(m)

    def _remote(self, m: Mapping[str, object]) -> None:
        for field, (cache, outcome) in _REMOTE.items():
            if times := f.number(m.get(field)):
                known = self.remote_caches.setdefault(cache, {})
                known[outcome] = known.get(outcome, 0) + times

    def backward_metrics(self, record: Record) -> None:
        compile_id = self.id_of(record)
        if compile_id is None:
            return
        draft = self._draft(self._latest_epoch(compile_id))
        draft.backward_s += f.seconds(record.m.get("duration_us"), 1e-6) or 0.0
        start, end = _ns(record.m.get("start_time_us")), _ns(record.m.get("end_time_us"))
        if start and end:
            self.backward_spans.append((start, end))
        self._phases(draft, record.m)
        self._remote(record.m)

    def reasons(self, record: Record, reasons: tuple[str, ...]) -> None:
        compile_id = self.id_of(record)
        if compile_id:
            self._draft(compile_id).reasons = reasons

    def error(self, record: Record, text: str | None) -> None:
        compile_id = self.id_of(record)
        if compile_id:
            self._draft(compile_id).error_text = text

    def place(self, compile_id: CompileId, code: Location, call: tuple[Location, ...]) -> None:
        """The frame as the interpreter knew it: a refused compile's own metrics carry no name."""
        draft = self._draft(compile_id)
        draft.code = draft.code or code
        draft.call = draft.call or call

    def finish(self) -> Mapping[CompileId, Compile]:
        return {key: draft.frozen() for key, draft in self._drafts.items()}

    def _draft(self, compile_id: CompileId) -> CompileDraft:
        draft = self._drafts.get(compile_id)
        if draft is None:
            draft = self._drafts[compile_id] = CompileDraft(compile_id)
        return draft

    def _latest_epoch(self, compile_id: CompileId) -> CompileId:
        """A backward may be compiled after a reset, under the id its forward had before it."""
        epoch = compile_id.epoch
        while epoch >= 0:
            candidate = CompileId(epoch, compile_id.frame, compile_id.recompile, compile_id.autograd)
            if candidate in self._drafts:
                return candidate
            epoch -= 1
        return compile_id

    def _phases(self, draft: CompileDraft, m: Mapping[str, object]) -> None:
        for field, name in _PHASES.items():
            spent = f.seconds(m.get(field), 1e-6)
            if spent is not None:
                draft.phases_s[name] = round(draft.phases_s.get(name, 0.0) + spent, 6)


def _ns(microseconds: object) -> int | None:
    value = f.number(microseconds)
    return None if value is None else value * 1000
