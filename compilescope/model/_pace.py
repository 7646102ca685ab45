"""How often each graph had been called at which time, and how long the program's own steps took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from compilescope.model import _fields as f
from compilescope.model.detail import Pace

_MOST_POINTS = 256  # of one graph; beyond it every other one is dropped
_MOST_STEPS = 100_000


class PaceBuilder:
    def __init__(self) -> None:
        self._points: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._at_compiles = False
        self._steps: list[tuple[int, int]] = []

    def counted(self, time_ns: int | None, rows: Sequence[Any]) -> None:
        """Rows of ``[serial, calls, ..]`` as of ``time_ns``."""
        if time_ns is None:
            return
        for row in rows:
            if f.number(row[0]) is None or f.number(row[1]) is None:
                continue
            points = self._points[row[0]]
            points.append((time_ns, row[1]))
            if len(points) > _MOST_POINTS:
                del points[1:-1:2]

    def at_compile(self, time_ns: int | None, rows: Sequence[Any]) -> None:
        self._at_compiles = True
        self.counted(time_ns, rows)

    def step(self, m: Mapping[str, Any]) -> None:
        """Lengths in us of the steps that ended at ``end_ns``."""
        end_ns, lengths = f.number(m.get("end_ns")), f.sequence(m.get("us"))
        if end_ns is None or not all(f.number(us) is not None for us in lengths):
            return
        begin_ns = end_ns - sum(lengths) * 1000
        for us in lengths[: _MOST_STEPS - len(self._steps)]:
            self._steps.append((begin_ns, us))
            begin_ns += us * 1000

    def finish(self) -> Pace:
        return Pace(
            {serial: tuple(points) for serial, points in self._points.items()},
            self._at_compiles,
            tuple(self._steps),
        )
