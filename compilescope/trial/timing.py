"""Steps of a run and how long they take once compiling is over."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from compilescope.recording import ProcessRecording

_FEWEST = 5  # steps from which a median is worth a word
_OFTEN = 0.1  # of the calls of the busiest callable: one called less often is no step


@dataclass(frozen=True, slots=True)
class Steps:
    """``starts_ns`` and ``lengths_s`` go together; ``count`` may be more where lengths were not kept."""

    basis: str  # "compilescope.step()" | "calls of NAME"
    count: int
    starts_ns: Sequence[int]
    lengths_s: Sequence[float]


@dataclass(frozen=True, slots=True)
class Interval:
    """A median in seconds, and between what it lies (95 %)."""

    value: float
    low: float
    high: float


def steps_of(processes: Iterable[ProcessRecording]) -> Steps | None:
    """Of the process with the most steps. Steps that the program named win over inferred ones."""
    told, inferred = [], []
    for process in processes:
        records = list(process.records(("step", "calls")))
        told += [s for s in [_told([r.m for r in records if r.k == "step"])] if s]
        inferred += [s for s in [_inferred([r.m for r in records if r.k == "calls"])] if s]
    return max(told or inferred, key=lambda steps: steps.count, default=None)


def _told(notes: Sequence[dict[str, object]]) -> Steps | None:
    starts: list[int] = []
    lengths: list[float] = []
    count = 0
    for note in notes:
        spent, end_ns, number = note.get("us"), note.get("end_ns"), note.get("n")
        if not isinstance(spent, list) or not isinstance(end_ns, int) or not isinstance(number, int):
            continue
        count = max(count, number)
        begin_ns = end_ns - sum(spent) * 1000
        for length_us in spent:
            starts.append(begin_ns)
            lengths.append(length_us / 1e6)
            begin_ns += length_us * 1000
    return Steps("compilescope.step()", count, starts, lengths) if count else None


def _inferred(notes: Sequence[dict[str, object]]) -> Steps | None:
    """From one call of a compiled callable to the next: the first one entered that is called often enough."""
    stamps: dict[int, list[int]] = defaultdict(list)
    names: dict[int, str] = {}
    counts: dict[int, int] = {}
    for note in notes:
        of, at_us, start_ns, number = (note.get(key) for key in ("of", "at_us", "start_ns", "n"))
        if isinstance(of, int) and isinstance(at_us, list) and isinstance(start_ns, int):
            stamps[of] += [start_ns + at * 1000 for at in at_us]
            names[of] = str(note.get("name"))
            counts[of] = number if isinstance(number, int) else len(stamps[of])
    often = max(counts.values(), default=0) * _OFTEN
    chosen = min((of for of in counts if counts[of] >= max(often, 2)), default=None)
    if chosen is None:
        return None
    times = stamps[chosen]
    lengths = [(after - before) / 1e9 for before, after in pairwise(times)]
    return Steps(f"calls of {names[chosen]}", counts[chosen], times[:-1], lengths)


def steady(steps: Steps | None, last_compile_ns: int | None) -> Interval | None:
    """The median step after the last compile; None when there are fewer than five of them."""
    if steps is None:
        return None
    after = [
        length
        for start, length in zip(steps.starts_ns, steps.lengths_s, strict=True)
        if last_compile_ns is None or start >= last_compile_ns
    ]
    return interval(after) if len(after) >= _FEWEST else None


def interval(values: Sequence[float]) -> Interval:
    """The median with the order statistics that hold it with 95 % (sign test, normal approximation)."""
    ordered = sorted(values)
    half = 0.98 * math.sqrt(len(ordered))
    middle = (len(ordered) - 1) / 2
    low, high = math.floor(middle - half), math.ceil(middle + half)
    return Interval(median(ordered), ordered[max(low, 0)], ordered[min(high, len(ordered) - 1)])


def hull(intervals: Sequence[Interval]) -> Interval | None:
    """Of several runs: the median of medians, and from the lowest bound to the highest."""
    if not intervals:
        return None
    return Interval(
        median(i.value for i in intervals), min(i.low for i in intervals), max(i.high for i in intervals)
    )
