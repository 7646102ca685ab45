"""Where compile time went: exclusive seconds by phase, in all and by function; what was open at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from compilescope.analysis.compile_time import rung_spans
from compilescope.analysis.index import FrameKey, Index
from compilescope.analysis.report_missing import Missing
from compilescope.analysis.report_run import FramePhases, OpenPhase, Phases
from compilescope.model import CompileId, Detail, PhaseSum

Seconds = dict[str, float]
Spent = tuple[Seconds, Seconds]
# What torch does around a compile, mostly writing its logs: its own figure of the wall is without it.
_AROUND = "dynamo"
_WAIT = "async_compile.wait"
_WORKERS = f"they are not recorded; the compile waits for them in {_WAIT}"


def phases(indexes: Sequence[Index], ended_ns: int | None = None) -> Phases:
    """``ended_ns``: when the parent saw the program end; later than the last record of a killed process."""
    forward, backward, parallel, outside = Seconds(), Seconds(), Seconds(), Seconds()
    frames: list[FramePhases] = []
    walls: list[float] = []
    for index in indexes:
        detail = index.process.detail
        if detail is None:
            continue
        for phase in detail.phases:
            _add(_table(phase, forward, backward, parallel, outside), phase)
        frames += _frames(index, detail)
        walls.append(_wall_s(index))
    total = sum(forward.values()) + sum(backward.values())
    return Phases(
        forward=_sorted(forward),
        backward=_sorted(backward),
        parallel=_sorted(parallel),
        outside=_sorted(outside),
        missing=list(_missing(indexes, forward | backward)),
        sum_s=round(total, 6) if walls else None,
        wall_s=round(sum(walls), 6) if walls else None,
        frames=sorted(frames, key=lambda frame: -frame.compile_s),
        open=[row for index in indexes for row in _open(index, ended_ns if len(indexes) == 1 else None)],
    )


def _missing(indexes: Sequence[Index], spent: Seconds) -> Iterator[Missing]:
    if _WAIT in spent:
        yield Missing("work of compile worker processes", _WORKERS)
    if not any(index.process.detail is not None for index in indexes):
        for name in ("sum_s", "wall_s"):
            yield Missing(name, "not asked for: the report was built without details")
    for index in indexes:
        for row in _open(index, None):
            if row.thread is None:
                yield Missing("open.thread", "the thread's name was not recorded")
            if row.compile_id is None:
                yield Missing("open.compile_id", "torch names no compile for that phase")


def phases_of_compiles(index: Index) -> Mapping[CompileId, Spent]:
    """Exclusive seconds by phase of each compile's forward and backward, longest first."""
    found: dict[CompileId, Spent] = defaultdict(lambda: ({}, {}))
    for phase in index.process.detail.phases if index.process.detail is not None else ():
        if phase.compile is not None and not phase.parallel and phase.name != _AROUND:
            forward, backward = found[phase.compile]
            _add(backward if phase.backward else forward, phase)
    return {key: (_sorted(forward), _sorted(backward)) for key, (forward, backward) in found.items()}


def _wall_s(index: Index) -> float:
    """Torch's own figures, and those of rungs that were compiled outside of any compile of torch's."""
    process = index.process
    compiles = process.compiles.values()
    spans = [(c.start_ns, c.end_ns) for c in compiles if c.start_ns is not None and c.end_ns is not None]
    rungs = sum(
        (end - start) * 1e-9
        for start, end in rung_spans(process)
        if not any(first <= start and end <= last for first, last in spans)
    )
    return sum((c.wall_s or 0.0) + c.backward_s for c in compiles) + rungs


def _table(
    phase: PhaseSum, forward: Seconds, backward: Seconds, parallel: Seconds, outside: Seconds
) -> Seconds:
    if phase.parallel:
        return parallel
    if phase.compile is None or phase.name == _AROUND:
        return outside
    return backward if phase.backward else forward


def _add(table: Seconds, phase: PhaseSum) -> None:
    table[phase.name] = table.get(phase.name, 0.0) + phase.exclusive_s


def _sorted(table: Seconds) -> Seconds:
    """Longest first."""
    return {name: round(s, 6) for name, s in sorted(table.items(), key=lambda item: (-item[1], item[0]))}


def _frames(index: Index, detail: Detail) -> Iterable[FramePhases]:
    by_frame: dict[FrameKey, tuple[Seconds, Seconds]] = defaultdict(lambda: ({}, {}))
    for phase in detail.phases:
        if phase.compile is not None and not phase.parallel and phase.name != _AROUND:
            forward, backward = by_frame[index.key_of(phase.compile)]
            _add(backward if phase.backward else forward, phase)
    for key, (forward, backward) in by_frame.items():
        frame = index.frames.get(key)
        if frame is not None:
            place = index.blamed(frame)
            total = sum(forward.values()) + sum(backward.values())
            yield FramePhases(
                place.function,
                index.paths.show(place.file),
                place.line,
                index.process.id,
                _sorted(forward),
                _sorted(backward),
                round(total, 6),
            )


def _open(index: Index, ended_ns: int | None) -> Iterable[OpenPhase]:
    """Only of a process that did not end by itself: the others closed what they opened."""
    process = index.process
    if process.complete or process.detail is None:
        return
    for left in process.detail.open:
        since = left.stack[-1][1]
        seconds = (ended_ns or process.last_ns or 0) * 1e-9 - since * 1e-6
        yield OpenPhase(
            process.id,
            left.thread,
            [name for name, _ in left.stack],
            round(seconds, 6) if seconds >= 0 else None,
            str(left.compile) if left.compile is not None else None,
        )
