"""Which sizes a warm-up runs a model at, so that Dynamo has made every graph that requests need."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch

from compilescope.bucketing.backend import BucketedBackend
from compilescope.bucketing.entry import Entry
from compilescope.bucketing.undo import side_effects_undone
from compilescope.ladder import BucketLadder, JointRung, Pin, Range

_log = logging.getLogger(__name__)

RANGE_ATTEMPTS = 8
"""How many sizes of one range are tried for a graph that its other graphs' guards leave out."""

SETS_OF_ONES = 15
"""For how many sets of names the size 1 is traced in each state: all sets of four names."""

_UNLIMITED = 2**31 - 1

_one_at_a_time = threading.RLock()

Call = Callable[[Mapping[str, int]], Any]
"""Run the model once on the example, resized so that each named symbol has the given size."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The model on the example, resized: ``traced`` by Dynamo, or as ``plain`` Python.

    What raises while Dynamo traces it, Dynamo leaves to Python for good, at every size: so the plain run
    comes first, and what it does not survive is not traced.
    """

    target: Any
    traced: Call
    plain: Call

    def first(self, sizes: Mapping[str, int]) -> None:
        """Raises what the model raises, before anything has been traced."""
        try:
            self._rehearse(sizes)
        except Exception as refused:
            refused.add_note(f"warm_up ran the model at {dict(sizes)}; nothing has been traced for it")
            raise
        self.traced(sizes)

    def attempt(self, sizes: Mapping[str, int], level: int = logging.WARNING) -> bool:
        """Trace at these sizes where the model takes them; a ladder may have some that it does not."""
        try:
            self._rehearse(sizes)
        except Exception as refused:
            text = f"{type(refused).__name__}: {refused}"
            _log.log(level, "the model does not run at %s and is not warmed up there: %s", dict(sizes), text)
            return False
        self.traced(sizes)
        return True

    def _rehearse(self, sizes: Mapping[str, int]) -> None:
        with side_effects_undone(self.target):
            self.plain(sizes)


@contextmanager
def recompiles_on_purpose() -> Iterator[None]:
    """Dynamo's limits are for recompiles that nobody asked for. Look-ups of what was made know no limit."""
    limits = {"recompile_limit": _UNLIMITED, "accumulated_recompile_limit": _UNLIMITED}
    # Up to torch 2.12 a patch is the whole process's, and two that overlap would leave one behind.
    with _one_at_a_time, torch._dynamo.config.patch(**limits):
        yield


def capture(backend: BucketedBackend, runs: Runs, sizes: Mapping[str, int]) -> None:
    """Make Dynamo trace in this state: at ``sizes``, then wherever no trace so far admits a rung."""
    with backend.warming():
        runs.first(sizes)
        # Behind a graph break Dynamo takes an int for a constant until it sees a second value.
        any(runs.attempt(other) for other in _other_sizes(backend, sizes))
        for joint in (*backend.ladder.exact(), *backend.ladder.pads(), *backend.ladder.ranges()):
            if _is_missing(backend, joint):
                runs.attempt(dict(sizes) | {name: rung.tuned_at for name, rung in joint.steps})
        for joint in backend.ladder.ranges():
            _capture_rest(backend, runs, sizes, joint)


def capture_ones(backend: BucketedBackend, runs: Runs, sizes: Mapping[str, int]) -> bool:
    """Trace the sizes of 1 that the ladder serves. Whether a call in this state goes through a graph."""
    with backend.warming():
        for ones in _ones(backend, sizes):
            try:
                # What refuses it, as batch norm does in training, has no request of it.
                runs.attempt(dict(sizes) | ones, logging.INFO)
            except Exception as refused:
                text = f"{type(refused).__name__}: {refused}"
                _log.warning("Dynamo does not trace the model at %s: %s", dict(sizes) | ones, text)
        before = backend.census.seen.graphs_run
        runs.traced(sizes)
        return backend.census.seen.graphs_run > before


def _capture_rest(backend: BucketedBackend, runs: Runs, sizes: Mapping[str, int], joint: JointRung) -> None:
    """The sizes of a range that guards have cut off: the other side of a branch, multiples of something."""
    tried: list[dict[str, int]] = []
    while len(tried) < RANGE_ATTEMPTS:
        entries = backend.census.seen.ran
        some = next((s for s in _left_out(entries, sizes, joint) if s not in tried), None)
        if some is None or not runs.attempt(some):
            return
        tried.append(some)


def _left_out(
    entries: Iterable[Entry], sizes: Mapping[str, int], joint: JointRung
) -> Iterator[dict[str, int]]:
    """Sizes of a range that every trace of some code has refused."""
    by_frame: dict[Any, list[Entry]] = {}
    for entry in dict.fromkeys(entries):
        by_frame.setdefault(entry.frame, []).append(entry)
    for some in _probes([each for group in by_frame.values() for each in group], sizes, joint):
        if any(not any(entry.admits(some) for entry in group) for group in by_frame.values()):
            yield some


def _probes(entries: list[Entry], sizes: Mapping[str, int], joint: JointRung) -> Iterator[dict[str, int]]:
    """Where guards may change: next to what a trace admits, beside the hint, at the ends."""
    for name, rung in joint.steps:
        if name not in sizes or not isinstance(rung, Range):
            continue
        wanted = [rung.tuned_at]
        for entry in entries:
            low, high = entry.admitted_span(name) or (rung.low, rung.high)
            wanted += [low - 1, low - 2]
            wanted += [] if high is None else [high + 1, high + 2]
        wanted += [rung.tuned_at + 1, rung.low, rung.high]
        others = {size for other, size in sizes.items() if other != name}
        for size in dict.fromkeys(wanted):
            if max(rung.low, 2) <= size <= rung.high and size not in others:
                yield dict(sizes) | {name: size}


def _ones(backend: BucketedBackend, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes of 1 that pads and ranges are to serve: Dynamo makes a graph of its own for each set of them."""
    names = [name for name, each in backend.ladder.ladders if name in sizes and _serves_one(each)]
    sets = [chosen for count in range(1, len(names) + 1) for chosen in combinations(names, count)]
    if len(sets) > SETS_OF_ONES:
        _log.warning(
            "size 1 is traced for %d of %d sets of names: the others compile at their first call, unless "
            "within(2, ...) says that no request has them",
            SETS_OF_ONES,
            len(sets),
        )
    for chosen in sets[:SETS_OF_ONES]:
        yield dict.fromkeys(chosen, 1)


def _serves_one(ladder: BucketLadder) -> bool:
    rung = ladder.serving(1)
    return rung is not None and not isinstance(rung, Pin) and (ladder.minimum or 1) <= 1


def _other_sizes(backend: BucketedBackend, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes of the ladder's own that differ from ``sizes`` where it has any; then others, twice."""
    for skipped in range(3):
        other = dict(sizes)
        for name, ladder in backend.ladder.ladders:
            candidates = [rung.tuned_at for rung in ladder if rung.tuned_at not in (1, sizes.get(name))]
            free = [size for size in candidates if size not in other.values()]
            other[name] = free[min(skipped, len(free) - 1)] if free else other.get(name, 0)
        yield {name: size for name, size in other.items() if name in sizes}


def _is_missing(backend: BucketedBackend, joint: JointRung) -> bool:
    """Whether every trace of some line of code that ran here has refused this rung for a guard."""
    by_location: dict[str | None, list[Entry]] = {}
    for entry in dict.fromkeys(backend.census.seen.ran):
        by_location.setdefault(entry.location, []).append(entry)
    return any(
        any(_wants_another_trace(entry, joint.label) for entry in entries)
        and not any(joint.label in entry.admitted for entry in entries)
        for entries in by_location.values()
    )


def _wants_another_trace(entry: Entry, label: str) -> bool:
    """Refused for a guard: what padding would make wrong, it makes wrong in every trace."""
    refused = entry.refused.get(label)
    return refused is not None and (refused.kind != "pad" or refused.guard is not None)
