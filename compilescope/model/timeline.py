"""When things happened: torch's phases as intervals, and cumulative counts of buckets. Nothing is summed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compilescope.model import _fields as f

if TYPE_CHECKING:
    from compilescope.recording import ProcessRecording, Record, Recording

_KINDS = ("phases", "thread", "dispatch")


@dataclass(frozen=True, slots=True)
class Span:
    """One closed phase of a thread, in us of unix time; ``duration_us`` None is an instant."""

    thread: int
    name: str
    start_us: int
    duration_us: int | None
    depth: int
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Count:
    """Calls that one rung of a bucket ladder had served by then, of all sizes."""

    time_us: int
    series: str
    value: int


@dataclass(frozen=True, slots=True)
class ProcessSpans:
    """``threads``: ident -> name, as far as it was recorded."""

    id: str
    threads: Mapping[int, str]
    spans: tuple[Span, ...]
    counts: tuple[Count, ...]


def spans(recording: Recording) -> tuple[ProcessSpans, ...]:
    """Of every process; records of another shape than theirs are passed over."""
    return tuple(_of(process) for process in recording.processes)


def _of(process: ProcessRecording) -> ProcessSpans:
    threads: dict[int, str] = {}
    found: list[Span] = []
    counts: list[Count] = []
    served: dict[str, dict[tuple[int, ...] | None, int]] = defaultdict(dict)
    for record in process.records(_KINDS):
        if record.k == "phases":
            found += _phases(record)
        elif record.k == "dispatch":
            counts += _dispatches(record, served)
        else:
            ident, name = f.number(record.m.get("ident")), f.text(record.m.get("name"))
            if ident is not None and name is not None:
                threads[ident] = name
    return ProcessSpans(process.id, threads, tuple(found), tuple(counts))


def _phases(record: Record) -> Iterator[Span]:
    t0, thread = f.number(record.x.get("t0")), record.th
    if t0 is None or thread is None:
        return
    for row in f.sequence(record.x.get("rows")):
        if not isinstance(row, list) or len(row) < 4 or not isinstance(row[0], str):
            continue
        start, duration, depth = row[1:4]
        if all(type(value) is int for value in (start, duration, depth)):
            args = f.mapping(row[4]) if len(row) > 4 else {}
            yield Span(thread, row[0], t0 + start, duration if duration >= 0 else None, depth, args)


def _dispatches(record: Record, served: dict[str, dict[tuple[int, ...] | None, int]]) -> Iterator[Count]:
    """``served``: the latest count of each size, by series; a snapshot names only what changed."""
    if record.t is None:
        return
    changed = []
    for row in f.sequence(record.x.get("rows")):
        if not isinstance(row, list) or len(row) != 7 or type(row[6]) is not int:
            continue
        _backend, entry, rung, outcome, _names, sizes, value = row
        series = f"bucket {rung} of entry {entry}, {outcome}"
        known = isinstance(sizes, list) and all(type(size) is int for size in sizes)
        served[series][tuple(sizes) if known else None] = value
        changed.append(series)
    for series in dict.fromkeys(changed):
        yield Count(record.t // 1000, series, sum(served[series].values()))
