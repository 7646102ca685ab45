"""Sizes that functions were called with: other values, or the same in other shares."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from compilescope.compare.diff import SizeRange, SizesChange
from compilescope.compare.places import FunctionKey, Places, joined_ranks, place_of
from compilescope.compare.run import Recorded

_MOVED = 0.05  # of the calls; less is one more batch in a longer run
_Seen = Mapping[tuple[FunctionKey, str], Counter[int]]


def sizes_changes(
    base: Recorded, head: Recorded, at: tuple[Places, Places], ranks: set[int]
) -> list[SizesChange]:
    """Of sizes that one of the runs counted, by the name of the input: ``x.size(0)``."""
    old, new = _seen(base, at[0]), _seen(head, at[1])
    keys = sorted(key for key in old.keys() | new.keys() if key[0].rank in ranks)
    rows = (_changed(key, old, new, at) for key in keys)
    return joined_ranks(row for row in rows if row is not None)


def _seen(run: Recorded, places: Places) -> _Seen:
    found: dict[tuple[FunctionKey, str], Counter[int]] = defaultdict(Counter)
    for row in run.report.sizes:
        key = places.key(row)
        for size in row.rows:
            for name, value in size.values.items():
                found[key, name][value] += size.count
    return found


def _changed(
    key: tuple[FunctionKey, str], old: _Seen, new: _Seen, at: tuple[Places, Places]
) -> SizesChange | None:
    was, now = old.get(key), new.get(key)
    moved = _moved(was, now)
    added = sorted(set(now or ()) - set(was or ()))
    lost = sorted(set(was or ()) - set(now or ()))
    if not added and not lost and (moved is None or moved <= _MOVED):
        return None
    function, name = key
    return SizesChange(place_of(function, *at), name, _range(was), _range(now), added, lost, moved)


def _moved(was: Counter[int] | None, now: Counter[int] | None) -> float | None:
    """Half the sum of the differences in share: 0 is alike, 1 has no size in common."""
    if not was or not now:
        return None
    calls = was.total(), now.total()
    if not all(calls):
        return None
    apart = sum(abs(was[n] / calls[0] - now[n] / calls[1]) for n in sorted(was.keys() | now.keys()))
    return round(apart / 2, 4)


def _range(seen: Counter[int] | None) -> SizeRange | None:
    return SizeRange(min(seen), max(seen), len(seen), seen.total()) if seen else None
