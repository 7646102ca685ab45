"""Keys of compile caches in both runs: the same, or which component changed, or why that is not known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compilescope.analysis.report import KeyChange
from compilescope.compare.diff import KeyRow, Place
from compilescope.compare.graphs import Pairs, Unit
from compilescope.compare.places import Places, joined_ranks, place_of
from compilescope.compare.run import CompileLookup, Recorded
from compilescope.model.inductor import CacheOutcome, why_miss

MAX_READ = 400  # look-ups of a run; the text of each is 70 kB
_ById = Mapping[tuple[str, int, str], list[CompileLookup]]
_GONE = "the key is the same: the entry was not there (another cache folder, or removed since)"
_ONLY_BASE, _ONLY_HEAD = "HEAD has no such graph", "BASE has no such graph"


@dataclass(slots=True)
class _Reader:
    """Reads at most so many texts, so that a run with thousands of graphs is still answered."""

    left: int

    def read(self, lookups: Sequence[CompileLookup]) -> list[CacheOutcome]:
        found = []
        for lookup in lookups:
            if self.left <= 0:
                break
            self.left -= 1
            outcome = lookup.lookup.read()
            if outcome is not None:
                found.append(outcome)
        return found


def cache_key_rows(
    base: Recorded, head: Recorded, graphs: Pairs, at: tuple[Places, Places]
) -> tuple[list[KeyRow], int]:
    """Every look-up of both runs, and how many were left unread. Pairs of graphs first."""
    ids = _by_compile(base.lookups), _by_compile(head.lookups)
    readers = _Reader(MAX_READ), _Reader(MAX_READ)
    rows: list[KeyRow] = []
    for pair in graphs.pairs:
        place = place_of(pair.head.key, *at)
        old, new = readers[0].read(_of(ids[0], pair.base)), readers[1].read(_of(ids[1], pair.head))
        rows += _rows(place, pair.head, old, new)
    for unit in graphs.left[0]:
        found = readers[0].read(_of(ids[0], unit))
        rows += _alone(place_of(unit.key, *at), unit, found, of_head=False)
    for unit in graphs.left[1]:
        found = readers[1].read(_of(ids[1], unit))
        rows += _alone(place_of(unit.key, *at), unit, found, of_head=True)
    unread = sum(max(0, len(run.lookups) - MAX_READ) for run in (base, head))
    return joined_ranks(rows), unread


def _by_compile(lookups: Sequence[CompileLookup]) -> _ById:
    found: dict[tuple[str, int, str], list[CompileLookup]] = defaultdict(list)
    for lookup in lookups:
        if lookup.compile is not None:
            found[lookup.process, lookup.compile.epoch, str(lookup.compile)].append(lookup)
    return found


def _of(ids: _ById, unit: Unit) -> list[CompileLookup]:
    graph = unit.forward
    return ids.get((graph.process, graph.epoch, graph.compile_id), [])


def _rows(
    place: Place, unit: Unit, old: Sequence[CacheOutcome], new: Sequence[CacheOutcome]
) -> Iterator[KeyRow]:
    """Look-ups of one cache in order: the forward graph's come before the backward's in both runs."""
    for cache in sorted({o.cache for o in (*old, *new)}):
        mine = [o for o in old if o.cache == cache]
        theirs = [o for o in new if o.cache == cache]
        number = max(len(mine), len(theirs))
        for n in range(number):
            was = mine[n] if n < len(mine) else None
            now = theirs[n] if n < len(theirs) else None
            status, reason, changes = _compared(was, now)
            yield KeyRow(
                place,
                cache,
                unit.forward.compile_id,
                _direction(cache, n, number, unit),
                _outcome(was),
                _outcome(now),
                status,
                reason,
                changes,
            )


def _direction(cache: str, n: int, number: int, unit: Unit) -> str | None:
    if cache != "fx_graph" or number != 1 + len(unit.backward):
        return None
    return "backward" if n else unit.forward.direction


def _outcome(found: CacheOutcome | None) -> str | None:
    return None if found is None else found.outcome


def _compared(was: CacheOutcome | None, now: CacheOutcome | None) -> tuple[str, str | None, list[KeyChange]]:
    if was is None or now is None:
        return "unknown", f"{'BASE' if was is None else 'HEAD'} did not ask this cache for the graph", []
    for name, outcome in (("BASE", was), ("HEAD", now)):
        if outcome.outcome == "bypass":
            return "unknown", f"{name} bypassed the cache: {outcome.bypass_reason or 'no reason given'}", []
        if outcome.key is None:
            return "unknown", f"{name} recorded no key", []
    if was.key == now.key:
        return "same", _GONE if now.outcome == "miss" else None, []
    if not was.components or not now.components:
        lacking = [name for name, outcome in (("BASE", was), ("HEAD", now)) if not outcome.components]
        return "changed", f"the keys differ; {_and(lacking)} recorded no list of what is in the key", []
    changes = [
        KeyChange(c.path, c.change, c.before, c.after) for c in why_miss(was.components, now.components)
    ]
    reason = None if changes else "the keys differ, and no listed component does"
    return "changed", reason, changes


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "both"


def _alone(place: Place, unit: Unit, found: Sequence[CacheOutcome], *, of_head: bool) -> Iterator[KeyRow]:
    for outcome in found:
        yield KeyRow(
            place,
            outcome.cache,
            unit.forward.compile_id,
            None,
            None if of_head else outcome.outcome,
            outcome.outcome if of_head else None,
            "unknown",
            _ONLY_HEAD if of_head else _ONLY_BASE,
            [],
        )
