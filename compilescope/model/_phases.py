"""Closed intervals of phases -> exclusive seconds, per thread: a phase without the phases inside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compilescope.model import _fields as f
from compilescope.model.detail import PhaseSum
from compilescope.model.values import CompileId

_BACKWARD_ROOTS = ("entire_backward_compile",)
_MAX_PENDING = 200_000


@dataclass(slots=True)
class _Row:
    """A closed phase that waits for the phases around it, which may know its compile."""

    depth: int
    name: str
    exclusive_us: int
    compile: CompileId | None
    backward: bool


class Phases:
    """Feed it `phases` records in file order: an inner phase closes before the one around it."""

    def __init__(self) -> None:
        self._inside: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._pending: dict[int, list[_Row]] = defaultdict(list)
        self._sums: dict[tuple[int, CompileId | None, str, bool], int] = defaultdict(int)
        self._compiling: set[int] = set()
        self._roots_us = 0
        self.closed_us: dict[int, int] = {}  # thread -> latest end of an outermost phase

    def add(self, thread: int, t0: int, rows: Sequence[Any], epoch: int) -> None:
        for row in rows:
            if len(row) >= 4 and row[2] >= 0:
                args = f.mapping(row[4]) if len(row) > 4 else {}
                self._close(thread, t0 + row[1], row[0], row[2], row[3], args, epoch)

    def _close(
        self, thread: int, start_us: int, name: str, us: int, depth: int, args: Mapping[str, Any], epoch: int
    ) -> None:
        inside = self._inside[thread]
        exclusive = max(0, us - inside.pop(depth + 1, 0))
        inside[depth] += us
        text = args.get("compile_id")
        compile_id = compile_id_of(text, epoch) if isinstance(text, str) else None
        backward = bool(args.get("is_backward")) or name in _BACKWARD_ROOTS
        pending = self._pending[thread]
        for row in reversed(pending):
            if row.depth <= depth:
                break
            row.compile = row.compile or compile_id
            row.backward = row.backward or backward
        pending.append(_Row(depth, name, exclusive, compile_id, backward))
        if depth == 0:
            inside.clear()
            self.closed_us[thread] = max(self.closed_us.get(thread, 0), start_us + us)
            if compile_id is not None:
                self._compiling.add(thread)
                self._roots_us += us
        if depth == 0 or len(pending) > _MAX_PENDING:
            self._settle(thread)

    def _settle(self, thread: int) -> None:
        for row in self._pending.pop(thread, ()):
            self._sums[(thread, row.compile, row.name, row.backward)] += row.exclusive_us

    def finish(self) -> tuple[tuple[PhaseSum, ...], float]:
        """The sums, and the seconds of all outermost phases that belong to a compile."""
        for thread in list(self._pending):
            self._settle(thread)
        merged: dict[tuple[CompileId | None, str, bool, bool], int] = defaultdict(int)
        for (thread, compile_id, name, backward), us in self._sums.items():
            merged[(compile_id, name, backward, thread not in self._compiling)] += us
        sums = (PhaseSum(*key, round(us * 1e-6, 6)) for key, us in merged.items())
        return tuple(sums), round(self._roots_us * 1e-6, 6)


@lru_cache(maxsize=256)
def compile_id_of(text: str, epoch: int) -> CompileId | None:
    """Of torch's ``3/1``, or ``!0/3/1`` under compiled autograd; None of anything else."""
    numbers = text.lstrip("!").split("/")
    if len(numbers) not in (2, 3) or not all(n.isdecimal() and len(n) < 10 for n in numbers):
        return None
    autograd = int(numbers[0]) if len(numbers) == 3 else -1
    return CompileId(epoch, int(numbers[-2]), int(numbers[-1]), autograd)
