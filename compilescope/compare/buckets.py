"""Rungs of bucket ladders: which are new or gone, and which are served in another way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from compilescope.analysis.report import Bucket
from compilescope.compare.diff import BucketChange
from compilescope.compare.places import FunctionKey, Places, joined_ranks, place_of
from compilescope.compare.run import Recorded

_Rungs = Mapping[tuple[FunctionKey, str], Sequence[Bucket]]


def bucket_changes(
    base: Recorded, head: Recorded, at: tuple[Places, Places], ranks: set[int]
) -> list[BucketChange]:
    """By function and rung. How often a rung was hit follows from the traffic: it is shown, and no change."""
    old, new = _rungs(base, at[0]), _rungs(head, at[1])
    keys = sorted(key for key in old.keys() | new.keys() if key[0].rank in ranks)
    return joined_ranks(
        BucketChange(place_of(key[0], *at), key[1], _word(a, b), _state(a), _state(b), _hits(a), _hits(b))
        for key in keys
        for a, b in zip_longest(old.get(key, ()), new.get(key, ()))
        if _state(a) != _state(b)
    )


def _rungs(run: Recorded, places: Places) -> _Rungs:
    """Without those that a reset dropped, and without what is no rung: calls that ran another way."""
    found: dict[tuple[FunctionKey, str], list[Bucket]] = defaultdict(list)
    for row in run.report.buckets:
        if row.live and row.kind not in ("eager", "dynamic"):
            found[places.key_at(row.function, row.file, row.line, row.process), row.rung].append(row)
    return found


def _word(a: Bucket | None, b: Bucket | None) -> str:
    if a is None or b is None:
        return "new" if a is None else "gone"
    return "other"


def _state(row: Bucket | None) -> str | None:
    """'pin', 'pad, refused' or 'range, failed': the reason of a refusal has numbers of its run."""
    if row is None:
        return None
    return row.kind + (", refused" if row.refused else "") + (", failed" if row.failed else "")


def _hits(row: Bucket | None) -> int | None:
    return row.hits if row is not None else None
