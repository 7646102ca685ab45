"""Where and with what the two runs were made, and what makes their figures hard to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compilescope.analysis.report import ProcessInfo, Report
from compilescope.compare.diff import Changed, Side
from compilescope.units import count

_FIRST = ("torch", "device", "driver", "cuda", "triton", "python")


def side(report: Report) -> Side:
    recording = report.recording
    return Side(
        path=recording.path,
        name=recording.name,
        command=list(recording.command),
        started=recording.started,
        ended=recording.ended,
        complete=recording.complete,
        git_revision=recording.git_revision,
        git_dirty=recording.git_dirty,
        versions=dict(sorted(recording.versions.items())),
        device=_joined(p.device for p in report.processes),
        processes=len(report.processes),
    )


def environment(base: Report, head: Report) -> list[Changed]:
    """What differs; a version that only one run recorded does too."""
    old, new = _facts(base), _facts(head)
    names = sorted(old.keys() | new.keys(), key=lambda name: (_rank(name), name))
    return [Changed(n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)]


def _facts(report: Report) -> dict[str, str]:
    """CompileScope's own version is left out: it decides what is seen, not what the program does."""
    facts = {k: v for k, v in report.recording.versions.items() if k != "compilescope"}
    processes: Sequence[ProcessInfo] = report.processes
    for name, values in (
        ("torch", [p.torch for p in processes]),
        ("python", [p.python for p in processes]),
        ("device", [p.device for p in processes]),
    ):
        found = _joined(values)
        if found is not None:
            facts[name] = found
    return facts


def _joined(values: object) -> str | None:
    found = sorted({str(v) for v in values if v})  # type: ignore[attr-defined]
    return ", ".join(found) or None


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def conditions(base: Report, head: Report) -> list[str]:
    """Sentences; none of them makes the runs differ."""
    return [*_of_one("BASE", base), *_of_one("HEAD", head), *_of_both(base, head)]


def _of_one(name: str, report: Report) -> Iterator[str]:
    recording = report.recording
    if recording.exit_status:
        yield f"{name}: the program {recording.ended or f'exited {recording.exit_status}'}"
    if not recording.complete:
        yield f"{name}: a process did not close its recording, so its counts may be too low"
    if any(process.damage for process in report.processes):
        yield f"{name}: the recording is damaged, so its counts may be too low"
    if report.unknown_records:
        yield f"{name}: the recording has records that this version does not know"


def _of_both(base: Report, head: Report) -> Iterator[str]:
    ours = [r.recording.versions.get("compilescope") for r in (base, head)]
    if ours[0] != ours[1]:
        yield f"recorded by CompileScope {ours[0] or 'unknown'} and {ours[1] or 'unknown'}"
    if not equally_cached(base, head):
        hits = [_lookups(r, "hit") for r in (base, head)]
        yield f"BASE has {count(hits[0], 'cache hit')} and HEAD {hits[1]:,}: compile times are not compared"
    calls = [_calls(r) for r in (base, head)]
    if None not in calls and calls[0] != calls[1]:
        yield f"BASE made {count(calls[0], 'call')} and HEAD {calls[1]:,}: what grows with steps differs"


def equally_cached(base: Report, head: Report) -> bool:
    """Both found as much in compile caches, or both everything, or both nothing."""
    if _lookups(base, "hit") == _lookups(head, "hit"):
        return True
    return _lookups(base, "miss") == _lookups(head, "miss") == 0


def _lookups(report: Report, outcome: str) -> int:
    return report.caches.fx_graph.get(outcome, 0) + report.caches.aot_autograd.get(outcome, 0)


def _calls(report: Report) -> int | None:
    """Of functions, not of what resumes after their breaks: another cut is not another number of steps."""
    found = [
        calls
        for frame in report.frames
        if frame.resumed_at is None
        for calls in (frame.compiled_calls, frame.eager_calls)
    ]
    known = [calls for calls in found if calls is not None]
    return sum(known) if len(known) == len(found) else None
