"""Look-ups of compile caches that missed: which part of the key differs from the nearest entry."""

from __future__ import annotations

from collections.abc import Sequence

from compilescope.analysis import lengths
from compilescope.analysis.index import Index
from compilescope.analysis.lengths import few
from compilescope.analysis.report_run import CacheMiss, KeyChange
from compilescope.model import CompileId
from compilescope.model.inductor import CacheOutcome, nearest


def cache_misses(indexes: Sequence[Index]) -> list[CacheMiss]:
    """In order. Compared with the look-ups before it, of every process: the first of a key has no entry."""
    seen: list[CacheOutcome] = []
    rows: list[CacheMiss] = []
    for index in indexes:
        detail = index.process.detail
        for lookup in detail.inductor.lookups if detail is not None and detail.inductor is not None else ():
            if len(seen) >= lengths.LOOKUPS:
                return rows
            outcome = lookup.read()
            if outcome is None:
                continue
            if outcome.outcome == "miss":
                rows.append(_row(index, lookup.key, outcome, seen))
            seen.append(outcome)
    return rows


def _row(
    index: Index, key: tuple[int, int, int, int] | None, outcome: CacheOutcome, seen: Sequence[CacheOutcome]
) -> CacheMiss:
    compile_id = CompileId(key[1], key[2], key[3], key[0]) if key is not None else None
    frame = index.frame_of(compile_id) if compile_id is not None else None
    place = index.blamed(frame) if frame is not None else None
    other, changes = nearest(outcome, seen) or (None, ())
    more: dict[str, int] = {}
    return CacheMiss(
        cache=outcome.cache,
        compile_id=str(compile_id) if compile_id is not None else None,
        function=place.function if place else None,
        file=index.paths.show(place.file) if place else None,
        line=place.line if place else None,
        process=index.process.id,
        key=outcome.key,
        compared_with=other.key if other is not None else None,
        changes=[
            KeyChange(c.path, c.change, c.before, c.after)
            for c in few(changes, lengths.KEY_CHANGES, "changes", more)
        ],
        more=more,
    )
