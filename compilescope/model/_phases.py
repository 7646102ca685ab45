"""Closed intervals of phases -> exclusive seconds, per thread: a phase without the phases inside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from compilescope.model import _fields as f
from compilescope.model.detail import PhaseSum
from compilescope.model.values import CompileId

_BACKWARD_ROOTS = ("entire_backward_compile",)
_MAX_PENDING = 200_000
_NO_ARGS: Mapping[str, Any] = {}


# A closed phase that waits for the phases around it, which may know its compile: depth, name, exclusive us,
# compile, backward. A list: half a million are made of a long run.
_Row = list[Any]


class _Thread:
    """Of one thread: time inside closed phases by their depth, and phases that wait for those around them."""

    __slots__ = ("inside", "pending")

    def __init__(self) -> None:
        self.inside: dict[int, int] = {}
        self.pending: list[_Row] = []


class Phases:
    """Feed it `phases` records in file order: an inner phase closes before the one around it."""

    def __init__(self) -> None:
        self._threads: dict[int, _Thread] = defaultdict(_Thread)
        self._sums: dict[tuple[int, CompileId | None, str, bool], int] = defaultdict(int)
        self._compiling: set[int] = set()
        self._roots_us = 0
        self.closed_us: dict[int, int] = {}  # thread -> latest end of an outermost phase

    def add(self, thread: int, t0: int, rows: Sequence[Any], epoch: int) -> None:
        """Hundreds of thousands of rows: what is asked of each is asked in this loop."""
        here = self._threads[thread]
        inside, pending = here.inside, here.pending
        for row in rows:
            if len(row) < 4 or row[2] < 0:
                continue
            name, start_us, us, depth = row[:4]
            args = f.mapping(row[4]) if len(row) > 4 else _NO_ARGS
            exclusive = max(0, us - inside.pop(depth + 1, 0))
            inside[depth] = inside.get(depth, 0) + us
            text = args.get("compile_id") if args else None
            compile_id = compile_id_of(text, epoch) if isinstance(text, str) else None
            backward = name in _BACKWARD_ROOTS or bool(args and args.get("is_backward"))
            if compile_id is not None or backward:
                _pass_inwards(pending, depth, compile_id, backward)
            pending.append([depth, name, exclusive, compile_id, backward])
            if depth == 0:
                inside.clear()
                self._close(thread, t0 + start_us + us, us, compile_id)
            if depth == 0 or len(pending) > _MAX_PENDING:
                self._settle(thread, pending)

    def _close(self, thread: int, end_us: int, us: int, compile_id: CompileId | None) -> None:
        self.closed_us[thread] = max(self.closed_us.get(thread, 0), end_us)
        if compile_id is not None:
            self._compiling.add(thread)
            self._roots_us += us

    def _settle(self, thread: int, pending: list[_Row]) -> None:
        sums = self._sums
        for _, name, exclusive_us, compile_id, backward in pending:
            sums[(thread, compile_id, name, backward)] += exclusive_us
        pending.clear()

    def finish(self) -> tuple[tuple[PhaseSum, ...], float]:
        """The sums, and the seconds of all outermost phases that belong to a compile."""
        for thread, here in self._threads.items():
            self._settle(thread, here.pending)
        merged: dict[tuple[CompileId | None, str, bool, bool], int] = defaultdict(int)
        for (thread, compile_id, name, backward), us in self._sums.items():
            merged[(compile_id, name, backward, thread not in self._compiling)] += us
        sums = (PhaseSum(*key, round(us * 1e-6, 6)) for key, us in merged.items())
        return tuple(sums), round(self._roots_us * 1e-6, 6)


def _pass_inwards(pending: list[_Row], depth: int, compile_id: CompileId | None, backward: bool) -> None:
    """What a phase knows of its compile holds for the phases inside it that do not know better."""
    for row in reversed(pending):
        if row[0] <= depth:
            break
        row[3] = row[3] or compile_id
        row[4] = row[4] or backward


@lru_cache(maxsize=256)
def compile_id_of(text: str, epoch: int) -> CompileId | None:
    """Of torch's ``3/1``, or ``!0/3/1`` under compiled autograd; None of anything else."""
    numbers = text.lstrip("!").split("/")
    if len(numbers) not in (2, 3) or not all(n.isdecimal() and len(n) < 10 for n in numbers):
        return None
    autograd = int(numbers[0]) if len(numbers) == 3 else -1
    return CompileId(epoch, int(numbers[-2]), int(numbers[-1]), autograd)
