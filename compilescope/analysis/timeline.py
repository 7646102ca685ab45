"""The run in time: phases of compiles with the function's name, graph breaks and recompiles as moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compilescope.analysis.report import GraphBreak, Report
from compilescope.model import Compile, Process, Run
from compilescope.model.timeline import Count, ProcessSpans, Span


@dataclass(frozen=True, slots=True)
class Slice:
    """One phase, in us of unix time. ``label`` names the compile and the function of an outermost one."""

    thread: int
    name: str
    label: str
    start_us: int
    duration_us: int | None  # None: a moment
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """A graph break or a recompile, in us of unix time."""

    thread: int | None
    kind: str
    text: str
    time_us: int
    args: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProcessTimeline:
    id: str
    pid: int
    name: str
    threads: Mapping[int, str]
    slices: Sequence[Slice]
    moments: Sequence[Moment]
    counts: Sequence[Count]


def timeline(run: Run, found: Sequence[ProcessSpans], report: Report) -> list[ProcessTimeline]:
    """One row a process, in the order of the report."""
    by_id = {spans.id: spans for spans in found}
    return [_of(p, by_id[p.id], report) for p in run.processes if p.id in by_id]


def _of(process: Process, spans: ProcessSpans, report: Report) -> ProcessTimeline:
    functions = {
        compile_id: f"{frame.function} {frame.file}:{frame.line}"
        for frame in report.frames
        if frame.process == process.id
        for compile_id in frame.compile_ids
    }
    idents = {name: ident for ident, name in spans.threads.items()}
    moments = [*_breaks(process, report.graph_breaks), *_recompiles(process, functions, idents)]
    rank = f" (rank {process.rank})" if process.rank is not None else ""
    return ProcessTimeline(
        id=process.id,
        pid=process.pid or 0,
        name=f"{report.recording.name or 'python'}{rank}",
        threads=spans.threads,
        slices=_nested([_slice(span, functions) for span in spans.spans]),
        moments=sorted(moments, key=lambda moment: moment.time_us),
        counts=spans.counts,
    )


def _slice(span: Span, functions: Mapping[str, str]) -> Slice:
    compile_id = span.args.get("compile_id")
    label = span.name
    if span.depth == 0 and isinstance(compile_id, str):
        label = " ".join(filter(None, (span.name, f"[{compile_id}]", functions.get(compile_id))))
    return Slice(span.thread, span.name, label, span.start_us, span.duration_us, span.args)


def _nested(slices: Sequence[Slice]) -> list[Slice]:
    """By thread and time, the outer one first. Start and length were rounded apart, so that an inner one may
    seem to end after the one around it, which viewers do not draw: it is cut there.
    """
    ordered = sorted(slices, key=lambda s: (s.thread, s.start_us, -(s.duration_us or 0)))
    found: list[Slice] = []
    around: list[Slice] = []
    for part in ordered:
        while around and (around[-1].thread != part.thread or _end(around[-1]) <= part.start_us):
            around.pop()
        if around and part.duration_us is not None and _end(part) > _end(around[-1]):
            part = replace(part, duration_us=_end(around[-1]) - part.start_us)
        found.append(part)
        if part.duration_us:
            around.append(part)
    return found


def _end(part: Slice) -> int:
    return part.start_us + (part.duration_us or 0)


def _breaks(process: Process, sites: Sequence[GraphBreak]) -> Iterator[Moment]:
    for event in process.breaks:
        if event.time_ns is None:
            continue
        compile_id = str(event.compile) if event.compile is not None else ""
        own = [s for s in sites if s.process == process.id and compile_id in s.compile_ids]
        text = f"{own[0].file}:{own[0].line} {own[0].reason}" if len(own) == 1 else _first_line(event.text)
        yield Moment(event.thread, "graph break", text, event.time_ns // 1000, {"compile_id": compile_id})


def _recompiles(
    process: Process, functions: Mapping[str, str], idents: Mapping[str, int]
) -> Iterator[Moment]:
    for compiled in process.compiles.values():
        if not compiled.reasons or compiled.start_ns is None:
            continue
        compile_id = str(compiled.id)
        kind = "refused recompile" if compiled.refused else "recompile"
        text = " ".join(filter(None, (f"[{compile_id}]", functions.get(compile_id))))
        args = {"compile_id": compile_id, "reason": compiled.reasons[0]}
        yield Moment(_thread(compiled, idents), kind, text, compiled.start_ns // 1000, args)


def _thread(compiled: Compile, idents: Mapping[str, int]) -> int | None:
    return idents.get(compiled.thread) if compiled.thread is not None else None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "unknown reason")
