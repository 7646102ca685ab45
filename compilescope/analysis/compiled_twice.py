"""Candidates of autotuning that were compiled twice, by function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.report_tuned import CompiledTwice
from compilescope.model import CompiledTwice as Event


def compiled_twice(indexes: Iterable[Index]) -> list[CompiledTwice]:
    """Most seconds first."""
    rows = [row for index in indexes for row in _of_process(index)]
    return sorted(rows, key=lambda row: (-row.compile_s, row.file or "", row.line or 0))


def _of_process(index: Index) -> Iterator[CompiledTwice]:
    frames: dict[int, FrameGroup | None] = {}
    events: dict[int, list[Event]] = defaultdict(list)
    for event in index.process.compiled_twice:
        frame = index.frame_of(event.compile) if event.compile is not None else None
        frames[id(frame)] = frame
        events[id(frame)].append(event)
    for key, frame in frames.items():
        yield _row(index, frame, events[key])


def _row(index: Index, frame: FrameGroup | None, events: list[Event]) -> CompiledTwice:
    place = index.blamed(frame) if frame is not None else None
    workers, own = events[0].assemblers
    return CompiledTwice(
        function=place.function if place else None,
        file=index.paths.show(place.file) if place else None,
        line=place.line if place else None,
        process=index.process.id,
        operations=len(events),
        candidates=sum(event.candidates for event in events),
        compile_s=round(sum(event.seconds for event in events), 6),
        workers=workers,
        own=own,
    )
