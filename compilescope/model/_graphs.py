"""Graphs: from the wrap around the backend where it ran, else from torch's own record of a traced graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compilescope.model import _fields as f
from compilescope.model._drafts import GraphDraft
from compilescope.model.values import Compile, CompileId, Graph, Placeholder


class Graphs:
    def __init__(self, file_name: f.FileName, *, counts: bool) -> None:
        """``counts``: this kind of recording has run-time counters at all."""
        self._counts = counts
        self._file = file_name
        self._handed_over: dict[int, GraphDraft] = {}
        self._traced: dict[CompileId, int] = {}

    def traced(self, compile_id: CompileId) -> None:
        self._traced[compile_id] = self._traced.get(compile_id, 0) + 1

    def handed_over(self, compile_id: CompileId, m: Mapping[str, Any], made_ns: int | None) -> None:
        serial = f.number(m.get("g"))
        key = len(self._handed_over) if serial is None else serial
        ends = f.mapping(m.get("break"))
        draft = GraphDraft(serial, compile_id, made_ns)
        draft.inherited = bool(m.get("inherited") or m.get("late"))
        draft.backend, draft.ops = f.text(m.get("backend")), f.number(m.get("ops"))
        draft.ends_at = f.location(self._file(f.number(ends.get("file"))), ends.get("line"), ends.get("name"))
        draft.ends_at_break = bool(ends)
        draft.placeholders = tuple(_placeholder(f.mapping(p)) for p in f.sequence(m.get("placeholders")))
        draft.symbols = {name: _symbol(told) for name, told in f.mapping(m.get("symbols")).items()}
        draft.uncounted = f.text(m.get("uncounted"))
        draft.size_names = tuple(str(name) for name in f.sequence(m.get("sizes")))
        self._handed_over[key] = draft

    def counted(self, rows: Sequence[Any]) -> None:
        for serial, calls, sizes, *_ in rows:
            draft = self._handed_over.get(serial) if f.number(serial) is not None else None
            if draft and f.number(calls) is not None:
                draft.counted(calls, sizes)

    def finish(self, compiles: Mapping[CompileId, Compile], counted_ns: float | None) -> tuple[Graph, ...]:
        """``counted_ns``: when the counters were last written. A graph made before it and not in them was
        never called.
        """
        drafts = list(self._handed_over.values())
        for draft in drafts:
            if draft.calls is None and counted_ns is not None and (draft.made_ns or 0) <= counted_ns:
                draft.counted(0, {})
        known = {draft.compile for draft in drafts}
        for compile_id, times in self._traced.items():
            if compile_id not in known:
                drafts += self._only_traced(compile_id, times, compiles.get(compile_id))
        return tuple(draft.frozen() for draft in drafts)

    def _only_traced(self, compile_id: CompileId, times: int, compiled: Compile | None) -> list[GraphDraft]:
        """Graphs whose backend failed or never returned. Without code they cannot have been called."""
        drafts = [GraphDraft(None, compile_id) for _ in range(times)]
        for draft in drafts:
            if self._counts and compiled is not None and not compiled.compiled:
                draft.counted(0, None)
        return drafts


def _symbol(told: Any) -> dict[str, Any]:
    fields = f.mapping(told)
    sources = [source for source in f.sequence(fields.get("sources")) if isinstance(source, str)]
    return {"sources": sources, "range": f.text(fields.get("range"))}


def _placeholder(m: Mapping[str, Any]) -> Placeholder:
    shape, stride = m.get("shape"), m.get("stride")
    return Placeholder(
        str(m.get("name")),
        f.text(m.get("kind")) or "other",
        f.text(m.get("source")),
        f.text(m.get("dtype")),
        tuple(map(_size, shape)) if isinstance(shape, list) else None,
        tuple(map(_size, stride)) if isinstance(stride, list) else None,
        f.text(m.get("device")),
        f.text(m.get("expr")),
        m.get("hint"),
        f.text(m.get("range")),
    )


def _size(told: Any) -> Any:
    """A symbol that tracing fixed may be told as the text of its number."""
    is_number = isinstance(told, str) and told.isascii() and told.isdecimal() and len(told) < 19
    return int(told) if is_number else told
