"""Why Inductor did not fuse two nodes: the reasons it states for its debug log, whether or not that is on.

Every pair it tries and turns down passes through ``WhyNoFuse``. What is said is kept unformatted until the
graph's schedule is written; no logger is touched, and nothing is kept beyond the compile.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

MAX_PAIRS = 2000  # kept while a graph is scheduled; the number of all of them is kept beside them
MAX_ROWS = 400
MAX_REASON = 200
_LEAST = "no shared data"  # said of most pairs: they give way to the others


class UnfusedPairs:
    """By thread: graphs are scheduled one after the other in each."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pairs: dict[int, dict[tuple[str, str], tuple[str, Any]]] = {}
        self._counts: dict[int, Counter[str]] = {}

    def install(self) -> Patch:
        from torch._inductor.scheduler import WhyNoFuse

        return patch(WhyNoFuse, "__call__", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __call__(self_: Any, reason: Any, *args: Any) -> Any:  # noqa: N807 - the name of what it wraps
            if session.active:
                session.safely(self._keep, self_.name1, self_.name2, reason, args)
            return original(self_, reason, *args)

        return __call__

    def _keep(self, first: str, second: str, reason: str, args: Any) -> None:
        thread = threading.get_ident()
        self._counts.setdefault(thread, Counter())[reason] += 1
        pairs = self._pairs.setdefault(thread, {})
        if (first, second) in pairs or len(pairs) < MAX_PAIRS:
            pairs[first, second] = (reason, args)

    def take(self) -> tuple[dict[str, int], list[list[str]], int]:
        """(reason -> how often, [first, second, reason as torch would print it], number of pairs)."""
        thread = threading.get_ident()
        counts, pairs = self._counts.pop(thread, Counter()), self._pairs.pop(thread, {})
        ordered = sorted(pairs.items(), key=lambda item: item[1][0] == _LEAST)[:MAX_ROWS]
        rows = [[first, second, _printed(*said)] for (first, second), said in ordered]
        return {reason[:MAX_REASON]: n for reason, n in counts.most_common()}, rows, len(pairs)


def _printed(reason: str, args: Any) -> str:
    try:
        return (reason % args)[:MAX_REASON] if args else reason[:MAX_REASON]
    except Exception:  # an argument that cannot be printed costs its place only
        return reason[:MAX_REASON]
