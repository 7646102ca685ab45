"""Rungs of bucket ladders: what each was compiled for, what it cost, which calls it served."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from compilescope.analysis.index import Index
from compilescope.analysis.report_run import Bucket, BucketSize
from compilescope.model import BucketEvent, CompileId, Dispatch

_EntryKey = tuple[str, int]
_LABEL = re.compile(r"^(\d+)$")
_EAGER = ("eager", "bypassed")
LADDER = ("pin", "pad", "range")
"""Kinds of rungs that a ladder has; the others are what serves the calls that no rung takes."""


@dataclass(slots=True)
class _Entry:
    """One captured graph and its rungs by label."""

    compile: CompileId | None
    graph: str | None
    state: str | None = None
    names: tuple[str, ...] = ()
    bypassed: str | None = None
    live: bool = True
    rungs: dict[str, Bucket] = field(default_factory=dict)
    copies: dict[str, list[tuple[int, list[str]]]] = field(default_factory=dict)
    graphs: dict[str, dict[str, Any]] = field(default_factory=dict)


def buckets(index: Index) -> list[Bucket]:
    """In order of capture and compile; rungs without a call have ``hits`` 0, those never built None."""
    entries = _entries(index.process.bucket_events)
    counted = _by_rung(index.process.dispatches)
    has_counts = bool(index.process.dispatches) or index.process.complete
    rows = []
    for key, entry in entries.items():
        labels = dict.fromkeys((*entry.rungs, *(rung for k, rung in counted if k == key)))
        for label in labels:
            row = entry.rungs.get(label) or _unannounced(key, entry, label, counted[(key, label)])
            counts = counted.get((key, label), [])
            served = _with_hits(row, counts, has_counts)
            padded = _with_padding(served, counts, entry.copies.get(label))
            rows.append(_placed(index, entry, replace(padded, **entry.graphs.get(label, {}))))
    return _with_homes(rows)


def _with_homes(rows: Sequence[Bucket]) -> list[Bucket]:
    """Dynamo captures a function several times, for sizes of 1 and other guards: what one graph refuses,
    another of the same state may have.
    """
    homes = {_home(row) for row in rows if row.kind in LADDER and not row.refused and not row.failed}
    return [replace(row, elsewhere=_home(row) in homes) if row.refused else row for row in rows]


def _home(row: Bucket) -> tuple[object, ...]:
    return row.backend, row.file or row.graph, row.line, row.function, row.state, row.live, row.rung


def _entries(events: Sequence[BucketEvent]) -> dict[_EntryKey, _Entry]:
    found: dict[_EntryKey, _Entry] = {}
    for event in events:
        fields: Mapping[str, Any] = event.fields
        key = (str(fields.get("backend")), fields.get("entry") or 0)
        if event.event == "BackendReset":
            for (backend, _), entry in found.items():
                entry.live = entry.live and backend != key[0]
            continue
        entry = found.setdefault(key, _Entry(event.compile, _text(fields.get("compile_id"))))
        if event.event == "EntryCaptured":
            symbols = fields.get("symbols") or ()
            entry.names = tuple(str(s["name"]) for s in symbols if s.get("name"))
            entry.bypassed = _text(fields.get("bypassed"))
            entry.state = _text(fields.get("state"))
        elif event.event == "RungVerified":
            _verify(entry, fields)
        elif event.event in ("GraphRecorded", "GraphSkipped"):
            _graph(entry.graphs.setdefault(str(fields.get("rung")), {}), fields)
        else:
            row = _of_event(event.event, key, entry, fields)
            if row is not None:
                entry.rungs[row.rung] = row
                entry.copies[row.rung] = list(fields.get("copied_bytes") or ())
    return found


def _of_event(name: str, key: _EntryKey, entry: _Entry, fields: Mapping[str, Any]) -> Bucket | None:
    label = str(fields.get("rung"))
    blank = Bucket(
        graph=entry.graph,
        dims=_dims_of_label(label, entry.names),
        kind=str(fields.get("kind")),
        rung=label,
        backend=key[0],
        entry=key[1],
    )
    if name == "RungCompiled":
        return replace(
            blank,
            dims=_dims(fields.get("sizes")) or blank.dims,
            concretized=_inputs(fields.get("inputs")),
            compile_s=_seconds(fields.get("wall_s")),
            cache=_text(fields.get("cache")),
            kernels=_number(fields.get("kernels")),
            predicate=[str(p) for p in fields.get("predicate") or ()],
            same_code_as=_text(fields.get("same_code_as")),
            split_from=_text(fields.get("split_from")),
            random=[str(draw) for draw in fields.get("random") or ()],
        )
    if name == "RungRefused":
        reason, guard = str(fields.get("reason")), _text(fields.get("guard"))
        line = _text(fields.get("user_line"))
        return replace(blank, refused=reason, guard=guard, user_line=line)
    if name == "RungFailed":
        return replace(blank, failed=str(fields.get("error")), compile_s=_seconds(fields.get("wall_s")))
    return None


def _unannounced(key: _EntryKey, entry: _Entry, label: str, counts: Sequence[Dispatch]) -> Bucket:
    """Calls served by no rung: eagerly, or by a graph that has none and was compiled as it came."""
    outcome = counts[0].outcome if counts else "eager"
    kind = "eager" if outcome in _EAGER else outcome
    return Bucket(
        graph=entry.graph,
        dims={},
        kind=kind,
        rung=label,
        backend=key[0],
        entry=key[1],
        bypassed=entry.bypassed if outcome == "bypassed" else None,
    )


def _with_hits(row: Bucket, counts: Sequence[Dispatch], has_counts: bool) -> Bucket:
    served = row.refused is None and row.failed is None
    hits = sum(c.count for c in counts) if counts else 0 if has_counts and served else None
    merged: dict[tuple[tuple[str, int], ...] | None, int] = defaultdict(int)
    for c in counts:
        values = dict(zip(c.names, c.sizes, strict=False)) if c.sizes is not None else None
        merged[tuple(values.items()) if values is not None else None] += c.count
    sizes = sorted(merged.items(), key=lambda item: (-item[1], item[0] or ()))
    return replace(
        row,
        hits=hits,
        sizes=[BucketSize(dict(key) if key is not None else None, n) for key, n in sizes],
    )


def _with_padding(row: Bucket, counts: Sequence[Dispatch], copies: Sequence[Any] | None) -> Bucket:
    if row.hits is None:
        return row
    known = [(dict(zip(c.names, c.sizes, strict=False)), c) for c in counts if c.sizes is not None]
    padded = sum(c.count * _padding(row, values) for values, c in known)
    if row.kind != "pad":
        return replace(row, padded_rows=padded)
    whole = prod(size for size in row.dims.values() if isinstance(size, int))
    computed = whole * sum(c.count for _, c in known)
    copied = sum(c.count * _copied(copies or (), values) for values, c in known if c.outcome == "padded")
    return replace(
        row,
        padded_rows=padded,
        padded_share=round(padded / computed, 4) if computed else None,
        copied_bytes=copied if copies else None,
    )


def _copied(terms: Sequence[Any], values: Mapping[str, int]) -> int:
    return sum(factor * prod(values.get(name, 0) for name in names) for factor, names in terms)


def _graph(found: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """What became of the rung's CUDA graph: recorded, perhaps several times, or not, in the end."""
    reason = _text(fields.get("reason"))
    if reason is not None:
        found["cuda_graph_skip"] = reason
        return
    found["replay_bytes"] = _number(fields.get("replay_bytes"))
    found["pool_bytes"] = _number(fields.get("pool_bytes"))
    graphs = _number(fields.get("graphs"))
    if fields.get("of_backward"):
        # The other half of a recording that was counted when its forward was.
        found["graphs_each"] = None if graphs is None else graphs + 1
        return
    found["cuda_graphs"] = found.get("cuda_graphs", 0) + 1
    found["graphs_each"] = graphs


def _verify(entry: _Entry, fields: Mapping[str, Any]) -> None:
    row = entry.rungs.get(str(fields.get("rung")))
    worst = fields.get("difference")
    if row is not None and worst is not None:
        entry.rungs[row.rung] = replace(row, verified=max(float(worst), row.verified or 0.0))


def _padding(row: Bucket, values: Mapping[str, int]) -> int:
    """Rows a call of these sizes was padded by: rung less size, of a rung with one number a dimension."""
    pairs = [(row.dims.get(name), size) for name, size in values.items()]
    if row.kind not in ("pin", "pad") or not all(isinstance(rung, int) for rung, _ in pairs):
        return 0
    whole = given = 1
    for rung, size in pairs:
        whole, given = whole * (rung if isinstance(rung, int) else 1), given * size
    return max(0, whole - given) if pairs else 0


def _placed(index: Index, entry: _Entry, row: Bucket) -> Bucket:
    frame = index.frame_of(entry.compile) if entry.compile is not None else None
    place = index.blamed(frame) if frame is not None else None
    return replace(
        row,
        live=entry.live,
        state=entry.state,
        process=index.process.id,
        function=place.function if place else None,
        file=index.paths.show(place.file) if place else None,
        line=place.line if place else None,
    )


def _dims(sizes: Any) -> dict[str, Any]:
    """A number for a pin; [low, high] for a range, high None without an end."""
    found: dict[str, Any] = {}
    for row in sizes or ():
        name, low, high = (*row, None, None)[:3]
        found[str(name)] = low if low == high else [low, high]
    return found


def _dims_of_label(label: str, names: Sequence[str]) -> dict[str, Any]:
    """Of a rung that was not compiled, whose sizes only its label tells."""
    match = _LABEL.match(label)
    return {names[0]: int(match[1])} if match and len(names) == 1 else {}


def _inputs(inputs: Any) -> dict[str, list[Any]]:
    shapes = {str(row.get("name")): row.get("shape") for row in inputs or ()}
    return {name: shape for name, shape in shapes.items() if isinstance(shape, list)}


def _by_rung(dispatches: Sequence[Dispatch]) -> dict[tuple[_EntryKey, str], list[Dispatch]]:
    found: dict[tuple[_EntryKey, str], list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        found[((dispatch.backend, dispatch.entry), dispatch.rung)].append(dispatch)
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    return round(float(value), 6) if isinstance(value, int | float) else None
