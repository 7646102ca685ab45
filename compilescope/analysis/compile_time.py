"""Wall time spent compiling, from torch's own intervals: overlaps are counted once."""

from __future__ import annotations

from collections.abc import Iterable

from compilescope.model import Process

Interval = tuple[int, int]


def compile_wall_s(processes: Iterable[Process]) -> float | None:
    """Seconds in which at least one process was compiling; None when no compile was timed."""
    spans = [span for process in processes for span in _spans(process)]
    return round(covered_ns(spans) * 1e-9, 6) if spans else None


def last_compile_end_ns(processes: Iterable[Process]) -> int | None:
    ends = [c.end_ns for p in processes for c in p.compiles.values() if c.end_ns is not None and c.started]
    return max(ends, default=None)


def covered_ns(spans: Iterable[Interval]) -> int:
    """Length of the union of intervals."""
    total, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def _spans(process: Process) -> list[Interval]:
    spans = list(process.backward_spans)
    for compiled in process.compiles.values():
        if compiled.start_ns is not None:
            end = compiled.end_ns
            if end is None and compiled.started and not process.complete:
                end = process.last_ns  # killed while compiling
            if end is not None and end > compiled.start_ns:
                spans.append((compiled.start_ns, end))
    return spans + list(rung_spans(process))


def rung_spans(process: Process) -> Iterable[Interval]:
    """A bucketed backend compiles its rungs outside of Dynamo's own compiles."""
    for event in process.bucket_events:
        wall_s = event.fields.get("wall_s")
        if event.time_ns is not None and isinstance(wall_s, int | float) and wall_s > 0:
            yield event.time_ns - round(wall_s * 1e9), event.time_ns
