"""Which step of the program each compile belongs to: by ``compilescope.step()``, else by compiled calls."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.paths import Paths, called
from compilescope.model import Compile, CompileId, Process
from compilescope.recording import ProcessRecording, Record

_OFTEN = 0.1  # of the calls of the busiest function: one called less often is no step
_Short = tuple[int, int | None, int | None]  # epoch, frame, recompile
Counts = tuple[Mapping[int, int], Mapping[int, int]]  # graph serial -> calls, code serial -> eager calls


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """``of``: compile -> the step it came in, from 1; 0 is before the first. ``count``: steps there were.

    ``eager``: for each compile that found other counts, code serial -> calls that had run eager by then.
    """

    basis: str
    count: int
    of: Mapping[CompileId, int]
    eager: Mapping[CompileId, Mapping[int, int]]


def told_ends(records: Iterable[Record]) -> list[int]:
    """When each step ended, in unix ns. Of steps that are not kept one by one: the end of their chunk."""
    ends: list[int] = []
    for record in records:
        spent = _integers(record.m.get("us"))
        numbers = _integers([record.m.get(key) for key in ("n", "count", "sum_us", "end_ns")])
        if spent is None or numbers is None:
            continue
        number, count, sum_us, end_ns = numbers
        at = end_ns - sum_us * 1000
        if not ends and number == count:
            ends.append(at)  # the first call ends the first step, whose start nobody saw
        for length_us in spent:
            at += length_us * 1000
            ends.append(at)
        ends += [end_ns] * (count - len(spent))
    return ends


def _integers(values: object) -> list[int] | None:
    listed = values if isinstance(values, list) else [None]
    known = [value for value in listed if isinstance(value, int)]
    return known if len(known) == len(listed) else None


def by_clock(process: Process, records: Sequence[Record], ends_ns: Sequence[int], basis: str) -> StepNumbers:
    """A compile belongs to the step that had not ended when it began."""
    begun = _begun(process, records)
    numbers = {key: bisect_left(ends_ns, at) + 1 for key, at in begun.items()}
    return StepNumbers(basis, len(ends_ns), numbers, _eager(process, _counts_at_compiles(records)))


def _begun(process: Process, records: Iterable[Record]) -> dict[CompileId, int]:
    """A refused compile never starts: it began when its conversion did."""
    converted = {}
    for record in records:
        spent = record.m.get("wall_us")
        if record.k == "convert" and record.t is not None and isinstance(spent, int):
            converted[_key(record)] = record.t - spent * 1000
    return {
        c.id: c.start_ns if c.start_ns is not None else converted.get(_short(c.id), 0)
        for c in process.compiles.values()
    }


def by_calls(process: Process, records: Sequence[Record]) -> StepNumbers | None:
    """Counted by the last piece of the first function that is called often; None without such counts.

    A compile inside a call of that function belongs to the step that the call begins.
    """
    index = Index(process, Paths(str(Path.cwd())))
    outermost = _outermost(index)
    at_compiles = [record for record in records if record.k == "runs_at_compile"]
    if outermost is None or not at_compiles or any(record.x.get("capped") for record in at_compiles):
        return None  # older than these records, or too many graphs to count at each compile
    function, piece, count = outermost
    counts = _counts_at_compiles(records)
    numbers = {}
    graphs: dict[int, int] = {}
    eager: dict[int, int] = {}
    serials = {g.serial for g in process.graphs if index.key_of(g.compile) == piece.key}
    for compiled in process.compiles.values():
        new_graphs, new_eager = counts.get(_short(compiled.id), ({}, {}))
        graphs.update(new_graphs)
        eager.update(new_eager)
        done = sum(n for serial, n in graphs.items() if serial in serials)
        done += eager.get(piece.serial, 0) if piece.serial is not None else 0
        numbers[compiled.id] = done + 1 if _is_inside(index, compiled, function) else done
    return StepNumbers(f"calls of {called(function.function)}", count, numbers, _eager(process, counts))


def _eager(process: Process, counts: Mapping[_Short, Counts]) -> dict[CompileId, Mapping[int, int]]:
    return {i: counts[_short(i)][1] for i in process.compiles if counts.get(_short(i), ({}, {}))[1]}


def _counts_at_compiles(records: Iterable[Record]) -> dict[_Short, Counts]:
    return {
        _key(r): (_pairs(r.x.get("g")), _pairs(r.x.get("e"))) for r in records if r.k == "runs_at_compile"
    }


def _key(record: Record) -> _Short:
    frame, recompile, _, epoch = (*(record.c or ()), None, None, None, None)[:4]
    return epoch or 0, frame, recompile


def _short(compile_id: CompileId) -> _Short:
    return compile_id.epoch, compile_id.frame, compile_id.recompile


def _pairs(rows: object) -> dict[int, int]:
    listed = rows if isinstance(rows, list) else []
    pairs = [row for row in listed if isinstance(row, list) and len(row) == 2]
    return {key: n for key, n in pairs if isinstance(key, int) and isinstance(n, int)}


def _outermost(index: Index) -> tuple[FrameGroup, FrameGroup, int] | None:
    """The first function entered that is called often, its last piece that runs in every call, and calls.

    The last one, so that what a call compiles on its way is seen before the call is counted.
    """
    calls = {key: _calls(index, group) for key, group in index.frames.items()}
    often = max(max(calls.values(), default=0) * _OFTEN, 2)
    first = next((key for key, n in calls.items() if n >= often), None)
    if first is None:
        return None
    pieces = [key for key, group in index.frames.items() if _same_function(index, group, index.frames[first])]
    count = max(calls[key] for key in pieces)
    last = [key for key in pieces if calls[key] == count][-1]
    return index.frames[pieces[0]], index.frames[last], count


def _calls(index: Index, group: FrameGroup) -> int:
    known = [n for c in group.compiles if (n := index.calls_of(c.id)) is not None]
    eager = index.process.eager_calls.get(group.serial, 0) if group.serial is not None else 0
    return sum(known) + eager


def _same_function(index: Index, one: FrameGroup, other: FrameGroup) -> bool:
    return _scope(index, one) == _scope(index, other)


def _scope(index: Index, group: FrameGroup) -> tuple[str, str, int | None]:
    start = index.scopes.start_of(group.code.file, group.resumed_at or group.code.line)
    return group.code.file, group.function, start or (group.code.line if group.resumed_at is None else None)


def _is_inside(index: Index, compiled: Compile, function: FrameGroup) -> bool:
    own = index.frame_of(compiled.id)
    if own is not None and _same_function(index, own, function):
        return True
    places = ((p.file, p.function) for p in compiled.call)
    return (function.code.file, function.code.function) in places or any(
        file == function.code.file and name.startswith(f"torch_dynamo_resume_in_{function.function}_at_")
        for file, name in places
    )


def step_records(source: ProcessRecording) -> tuple[list[Record], list[Record]]:
    """The records of ``compilescope.step()``, and those that tell when compiles came."""
    records = list(source.records(("step", "convert", "runs_at_compile")))
    return [r for r in records if r.k == "step"], [r for r in records if r.k != "step"]
