"""Functions of a run by names that outlive an edit: file, qualified name, and the rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from compilescope.advice.sources import Sources
from compilescope.analysis.report import Frame
from compilescope.compare.diff import Place
from compilescope.compare.files import common_name
from compilescope.compare.run import Recorded


@dataclass(frozen=True, slots=True, order=True)
class FunctionKey:
    """The same function of both runs. ``rank`` -1: no process says that it has one."""

    rank: int
    file: str
    function: str


class Located(Protocol):
    """A row of a report that says where it is."""

    @property
    def function(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def process(self) -> str: ...


class Places:
    """Of one run. ``files`` maps its file names to those common to both runs."""

    def __init__(self, run: Recorded, files: Mapping[str, str]) -> None:
        self._files = files
        self._sources = Sources(run.sources)
        self._ranks = {p.id: -1 if p.rank is None else p.rank for p in run.report.processes}
        self._shown: dict[FunctionKey, Place] = {}
        self._starts = {_spot(row): row for row in run.report.frames if row.resumed_at is None}
        self._parts = self._code_parts(run.report.frames)

    @property
    def ranks(self) -> set[int]:
        """-1 stands for processes without one."""
        return set(self._ranks.values())

    def key(self, row: Located) -> FunctionKey:
        return self.key_at(row.function, row.file, row.line, row.process)

    def key_at(self, function: str | None, file: str | None, line: int | None, process: str) -> FunctionKey:
        """Of a row that may not know where it is."""
        name = self._sources.qualified_name(file, line, function)
        key = FunctionKey(self._ranks.get(process, -1), common_name(self._files, file), name)
        place = self._shown.get(key)
        if place is None or (line or 0) < (place.line or 0):
            self._shown[key] = Place(name, file or "?", line or None)
        return key

    def part(self, row: Located) -> int:
        """0 for the function itself, then what resumes after its breaks, in the order of their lines."""
        return self._parts.get((self.key(row), row.line), 0)

    def shown(self, key: FunctionKey) -> Place | None:
        return self._shown.get(key)

    def _code_parts(self, frames: Sequence[Frame]) -> dict[tuple[FunctionKey, int], int]:
        lines: dict[FunctionKey, set[int]] = defaultdict(set)
        for row in frames:
            if row.resumed_at is not None:
                lines[self.key(row)].add(row.line)
        return {
            (key, line): number
            for key, found in lines.items()
            for number, line in enumerate(sorted(found), 1)
        }


def shared_ranks(base: Places, head: Places) -> set[int]:
    """Those to compare. Jobs of different sizes are compared as far as they are the same job."""
    shared = base.ranks & head.ranks
    return shared if any(rank >= 0 for rank in shared) else base.ranks | head.ranks


def _spot(row: Located) -> tuple[str, str, int]:
    return row.process, row.file, row.line


def place_of(key: FunctionKey, base: Places, head: Places) -> Place:
    """HEAD's where it has the function, with the rank the row is of."""
    shown = head.shown(key) or base.shown(key) or Place(key.function, key.file, None)
    return replace(shown, ranks=[key.rank] if key.rank >= 0 else [])


class _Row(Protocol):
    @property
    def place(self) -> Place: ...


R = TypeVar("R", bound=_Row)


def joined_ranks(rows: Iterable[R]) -> list[R]:
    """Rows that say the same of several ranks become one that names the ranks. Keeps the order."""
    found: list[R] = []
    alike: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        places = alike[repr(_at_ranks(row, []))]
        ranks = set(row.place.ranks)
        at = next((n for n in places if ranks and ranks.isdisjoint(found[n].place.ranks)), None)
        if at is None:
            places.append(len(found))
            found.append(row)
        else:
            found[at] = _at_ranks(row, sorted({*found[at].place.ranks, *ranks}))
    return found


def _at_ranks(row: R, ranks: list[int]) -> R:
    return replace(row, place=replace(row.place, ranks=ranks))  # type: ignore[type-var]
