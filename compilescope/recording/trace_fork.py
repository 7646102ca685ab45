"""Names for the frames of forked children: torch opens a new log after a fork, but not a new string table."""

from __future__ import annotations

from typing import Any

from compilescope.recording.format import Record
from compilescope.recording.trace_process import TraceProcess
from compilescope.recording.trace_strings import StringTable


def share_string_tables(processes: list[TraceProcess]) -> None:
    """Gives a process that uses file numbers it never defined the table of its parent.

    Where several could be it, and they disagree on a number that is used, none is taken: no name is better
    than a wrong one.
    """
    tables = [p.strings for p in _first_of_each_table(processes) if 0 in p.strings]
    for process in processes:
        if 0 in process.strings:
            # It began its own table: whatever it lacks was lost, not inherited.
            continue
        used = {number for record in process.records() for number in _file_numbers(record)}
        unknown = {number for number in used if number >= 0 and number not in process.strings}
        if not unknown:
            continue
        parent = _only_answer(unknown, [table for table in tables if table is not process.strings])
        if parent is None:
            detail = (
                f"{len(unknown)} file names: this log, as after a fork, lacks them, and no other tells them"
            )
            process.note("strings-missing", 0, detail)
        else:
            process.inherited_strings = parent


def _first_of_each_table(processes: list[TraceProcess]) -> list[TraceProcess]:
    return list({id(process.strings): process for process in reversed(processes)}.values())


def _only_answer(numbers: set[int], tables: list[StringTable]) -> StringTable | None:
    able = [table for table in tables if all(number in table for number in numbers)]
    for number in numbers:
        if len({table.get(number) for table in able}) > 1:
            return None
    return able[0] if able else None


def _file_numbers(record: Record) -> list[int]:
    stacks = [record.stack] if record.stack else []
    stacks += [value for value in record.m.values() if type(value) is list]
    return [number for stack in stacks for frame in stack if (number := _file_number(frame)) is not None]


def _file_number(frame: Any) -> int | None:
    number = frame.get("filename") if type(frame) is dict else None
    return number if type(number) is int else None
