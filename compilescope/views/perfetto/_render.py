"""A timeline as Chrome trace events, which Perfetto and chrome://tracing open.

``torch.profiler`` writes ``ts`` in us after its ``baseTimeNanoseconds``, and torch's phases are in us of unix
time: both are the same clock, so one subtraction lines them up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compilescope.units import visible

if TYPE_CHECKING:
    from compilescope.analysis.timeline import Moment, ProcessTimeline, Slice

Event = dict[str, Any]

# Above any thread id of Linux: a track of ours never mixes with one of the profiler's, whose slices ours
# would overlap. The trace viewers put both below the process of the same pid.
_FIRST_TRACK = 1 << 22
_LONGEST = 500
_CATEGORY = "torch.compile"


def render(processes: Sequence[ProcessTimeline]) -> str:
    """``ts`` is unix time in us: ``baseTimeNanoseconds`` is 0. Equal timelines give equal bytes."""
    return _text({"displayTimeUnit": "ms", "baseTimeNanoseconds": 0}, _events(processes, 0))


def merged(processes: Sequence[ProcessTimeline], trace: Mapping[str, Any]) -> str:
    """The same events in a trace that ``torch.profiler`` exported. Raises ValueError: it is not one."""
    base_ns, events = trace.get("baseTimeNanoseconds", 0), trace.get("traceEvents")
    if not isinstance(events, list) or not isinstance(base_ns, int):
        raise ValueError("it has no traceEvents")
    others = {name: value for name, value in trace.items() if name != "traceEvents"}
    return _text(others, [*events, *_events(processes, base_ns)])


def _text(head: Mapping[str, Any], events: Iterable[Event]) -> str:
    """One event a line: such files are looked into with text tools too."""
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    return json.dumps({**head, "traceEvents": []})[:-2] + f"\n{lines}\n]}}\n"


def _events(processes: Sequence[ProcessTimeline], base_ns: int) -> Iterator[Event]:
    for process in processes:
        tracks = _tracks(process)
        yield _named("process_name", process.pid, 0, process.name)
        for ident, track in tracks.items():
            name = process.threads.get(ident) or f"thread {ident}"
            yield _named("thread_name", process.pid, track, f"torch.compile, {name}")
        for slice_ in process.slices:
            yield _slice(process, slice_, tracks, base_ns)
        for moment in process.moments:
            yield _moment(process, moment, tracks, base_ns)
        for count in process.counts:
            yield {
                "ph": "C",
                "name": _clean(count.series),
                "pid": process.pid,
                "ts": _ts(count.time_us, base_ns),
                "args": {"calls": count.value},
            }


def _tracks(process: ProcessTimeline) -> dict[int, int]:
    idents = dict.fromkeys(
        (*(s.thread for s in process.slices), *(m.thread for m in process.moments if m.thread is not None))
    )
    return {ident: _FIRST_TRACK + number for number, ident in enumerate(idents)}


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": _clean(name)}}


def _slice(process: ProcessTimeline, found: Slice, tracks: Mapping[int, int], base_ns: int) -> Event:
    event = {
        "ph": "X" if found.duration_us is not None else "i",
        "cat": _CATEGORY,
        "name": _clean(found.label),
        "pid": process.pid,
        "tid": tracks[found.thread],
        "ts": _ts(found.start_us, base_ns),
        "args": {"phase": _clean(found.name), **_plain(found.args)},
    }
    return event | ({"s": "t"} if found.duration_us is None else {"dur": found.duration_us})


def _moment(process: ProcessTimeline, found: Moment, tracks: Mapping[int, int], base_ns: int) -> Event:
    where = {"s": "p"} if found.thread is None else {"s": "t", "tid": tracks[found.thread]}
    return {
        "ph": "i",
        "cat": _CATEGORY,
        "name": _clean(f"{found.kind}: {found.text}"),
        "pid": process.pid,
        "ts": _ts(found.time_us, base_ns),
        "args": _plain(found.args),
        **where,
    }


def _ts(time_us: int, base_ns: int) -> int | float:
    """Whole us where the base allows it: a float of unix time in us has only a quarter of one left."""
    whole, rest = divmod(time_us * 1000 - base_ns, 1000)
    return whole if rest == 0 else whole + rest / 1000


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as they are; everything else as short text."""
    return {
        _clean(str(name)): value if isinstance(value, bool | int) or _finite(value) else _clean(str(value))
        for name, value in args.items()
    }


def _finite(value: Any) -> bool:
    return isinstance(value, float) and abs(value) < float("inf")


def _clean(text: str) -> str:
    shown = visible(text[:_LONGEST])
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")
