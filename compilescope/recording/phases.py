"""Folds torch's chromium events (begin, end, instant) into closed intervals, per thread.

A compile emits hundreds of events; as intervals, 64 to a record, they take a tenth of the lines. The
cache-key texts torch attaches (``components``, ``debug_lines``) are dropped: they also arrive as artifacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = list[Any]
"""``[name, start_us, dur_us, depth]`` or, with arguments, ``[.., args]``; ``dur_us`` -1 marks an instant."""

_ROWS_PER_RECORD = 64
_DROPPED_ARGS = frozenset(("components", "debug_lines"))
_DEEPEST = 1000


class PhaseFold:
    """Not thread-safe: the caller holds its own lock.

    ``unmatched`` counts ends without a begin, ``unclosed`` begins whose end never came.
    """

    def __init__(self) -> None:
        self.unmatched = 0
        self.unclosed = 0
        self._stacks: dict[int, list[tuple[str, float, Mapping[str, Any]]]] = {}
        self._rows: dict[int, list[tuple[str, float, float, int, dict[str, Any]]]] = {}

    def feed(self, event: Mapping[str, Any], thread: int) -> dict[str, Any] | None:
        """Takes one event; returns the fields of a ``phases`` record as soon as one is due, else None.

        One is due after 64 rows, and when the outermost phase of the thread ends: a killed process
        loses no finished compile. Raises KeyError, TypeError or ValueError if the event makes no sense.
        """
        name, kind, ts_us = str(event["name"]), event["ph"], float(event["ts"])
        if not abs(ts_us) < 1e18:
            raise ValueError("ts out of range")
        args = event.get("args") or {}
        if not isinstance(args, Mapping):
            raise TypeError("args is not an object")
        if kind == "B":
            self._begin(thread, name, ts_us, args)
            return None
        if kind == "E":
            self._end(thread, name, ts_us, args)
        elif kind in ("i", "I", "R"):
            depth = len(self._stacks.get(thread, ()))
            self._add(thread, name, ts_us, -1, depth, args)
        else:
            raise ValueError("unknown ph")
        rows = self._rows.get(thread, ())
        if len(rows) >= _ROWS_PER_RECORD or (rows and not self._stacks.get(thread)):
            return self.flush(thread)
        return None

    def flush(self, thread: int) -> dict[str, Any] | None:
        """The rows gathered so far, as ``{"th", "t0", "rows"}``.

        ``t0`` is in us of unix time, ``start_us`` relative to it (negative where a parent closes last).
        """
        gathered = self._rows.pop(thread, None)
        if not gathered:
            return None
        t0 = round(gathered[0][1])
        rows: list[Row] = []
        for name, start_us, dur_us, depth, args in gathered:
            row: Row = [name, round(start_us) - t0, round(dur_us), depth]
            if args:
                row.append(args)
            rows.append(row)
        return {"th": thread, "t0": t0, "rows": rows}

    def threads(self) -> list[int]:
        """Threads that have rows to flush."""
        return list(self._rows)

    def open(self, thread: int | None = None) -> dict[int, list[list[Any]]]:
        """What is open now: per thread ``[[name, start_us of unix time], ...]``, outermost first."""
        items = self._stacks.items() if thread is None else [(thread, self._stacks.get(thread, []))]
        return {th: [[name, round(ts_us)] for name, ts_us, _ in stack] for th, stack in items if stack}

    def _begin(self, thread: int, name: str, ts_us: float, args: Mapping[str, Any]) -> None:
        stack = self._stacks.setdefault(thread, [])
        if len(stack) < _DEEPEST:
            stack.append((name, ts_us, args))
        else:
            self.unclosed += 1

    def _end(self, thread: int, name: str, ts_us: float, args: Mapping[str, Any]) -> None:
        stack = self._stacks.get(thread, [])
        depth = len(stack) - 1
        while depth >= 0 and stack[depth][0] != name:
            depth -= 1
        if depth < 0:
            self.unmatched += 1
            return
        _, start_us, begin_args = stack.pop(depth)
        if depth == 0:
            # The outermost phase ended: what is still above it will never be closed.
            self.unclosed += len(stack)
            stack.clear()
        self._add(thread, name, start_us, max(0.0, ts_us - start_us), depth, {**begin_args, **args})

    def _add(
        self, thread: int, name: str, start_us: float, dur_us: float, depth: int, args: Mapping[str, Any]
    ) -> None:
        kept = {k: v for k, v in args.items() if v is not None and k not in _DROPPED_ARGS}
        self._rows.setdefault(thread, []).append((name, start_us, dur_us, depth, kept))
