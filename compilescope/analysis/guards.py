"""What is checked before each call of a graph: how many guards, of what kind, made by which line."""

from __future__ import annotations

from collections import Counter

from compilescope.analysis import lengths
from compilescope.analysis.index import Index
from compilescope.analysis.lengths import few
from compilescope.analysis.lines import line_at
from compilescope.analysis.report_graph import GuardRow, Guards
from compilescope.model import Compile, GuardEntry


class GuardLists:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._left = lengths.GUARD_LISTS

    def of(self, compiled: Compile | None) -> Guards | None:
        """None where nothing is known of the compile's guards."""
        detail = self._index.process.detail
        if compiled is None or (compiled.guard_count is None and detail is None):
            return None
        known = detail.guards.get(compiled.id) if detail is not None else None
        count = known.count if known is not None and known.count is not None else compiled.guard_count
        hot = known.hot_check_us if known is not None else None
        self._left -= known is not None
        if known is None or self._left < 0:
            if count is None:
                return None
            return Guards(count, {}, hot, compiled.guard_latency_us, [], known is not None)
        entries = known.read()
        kinds = Counter(kind for entry in entries for kind in entry.kinds)
        more: dict[str, int] = {}
        rows = [
            GuardRow(
                entry.source,
                list(entry.kinds),
                entry.origin,
                line_at(self._index, entry.at),
                self._callers(entry),
            )
            for entry in few(entries, lengths.GUARDS, "rows", more)
        ]
        return Guards(
            count, dict(kinds.most_common()), hot, compiled.guard_latency_us, rows, True, len(entries), more
        )

    def _callers(self, entry: GuardEntry) -> list[str]:
        return [self._index.name_place(place) for place in entry.callers]
