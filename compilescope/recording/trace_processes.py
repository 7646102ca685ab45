"""Tells apart the processes whose records lie in one log."""

from __future__ import annotations

from typing import Any

from compilescope.recording.damage import DamageLog
from compilescope.recording.source import ByteSource
from compilescope.recording.trace_process import TraceProcess
from compilescope.recording.trace_strings import StringTable

_MAX_PROCESSES = 1000


class TraceProcesses:
    """By pid and rank; a string table that begins again is a new process with the pid of an old one."""

    def __init__(self, source: ByteSource, year: int, damage: DamageLog) -> None:
        self.all: list[TraceProcess] = []
        self._source = source
        self._year = year
        self._damage = damage
        self._current: dict[tuple[bytes, object], TraceProcess] = {}

    def of(self, pid: bytes, rank: object, offset: int) -> TraceProcess:
        process = self._current.get((pid, rank if type(rank) is int else None))
        if process is not None:
            return process
        return self._find_or_add(pid, rank if type(rank) is int else None, offset)

    def learn_string(self, process: TraceProcess, entry: Any, offset: int) -> None:
        """``entry`` is ``[text, number]``."""
        try:
            text, number = entry
            if type(text) is not str or type(number) is not int:
                raise TypeError
            if number in process.strings and not self._is_repeated(process, text, number, offset):
                process = self._begin_again(process, offset)
            process.strings.add(number, text, offset)
        except (TypeError, ValueError):
            process.note("bad-field", offset, "an entry of the string table")

    def _is_repeated(self, process: TraceProcess, text: str, number: int, offset: int) -> bool:
        if process.strings.get(number) != text or (number == 0 and process.strings.count > 1):
            return False
        process.note("duplicate-record", offset, f"entry {number} of the string table")
        return True

    def _begin_again(self, process: TraceProcess, offset: int) -> TraceProcess:
        pid = str(process.head["pid"]).encode()
        for key in [key for key in self._current if int(key[0]) == int(pid)]:
            del self._current[key]
        self._damage.add(
            "several-processes",
            self._source.name,
            offset,
            f"the string table begins again: from here it is another process with pid {pid.decode()}",
        )
        successor = self._find_or_add(pid, process.rank, offset)
        process.hand_over(successor)
        return successor

    def _find_or_add(self, pid: bytes, rank: int | None, offset: int) -> TraceProcess:
        siblings = [process for (p, _), process in self._current.items() if p == pid]
        for process in siblings:
            # The rank appears once torch.distributed is initialized.
            if rank is None or process.rank is None:
                if rank is not None:
                    process.head["rank"] = rank
                self._current[pid, rank] = process
                return process
        if len(self.all) >= _MAX_PROCESSES:
            self._damage.add("too-many-processes", self._source.name, offset, "told apart no longer")
            self._current[pid, rank] = self.all[-1]
            return self.all[-1]
        return self._add(pid, rank, siblings, offset)

    def _add(self, pid: bytes, rank: int | None, siblings: list[TraceProcess], offset: int) -> TraceProcess:
        strings = siblings[0].strings if siblings else StringTable(self._source)
        process = TraceProcess(self._id(pid, rank), self._source, int(pid), strings, self._year)
        if rank is not None:
            process.head["rank"] = rank
        if siblings:
            detail = f"ranks {siblings[0].rank} and {rank} of one process id write into one log"
            self._damage.add("several-ranks", self._source.name, offset, detail)
        self.all.append(process)
        self._current[pid, rank] = process
        return process

    def _id(self, pid: bytes, rank: int | None) -> str:
        base = f"pid{int(pid)}" if rank is None else f"rank{rank}-pid{int(pid)}"
        taken = {process.id for process in self.all}
        number, name = 1, base
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name
