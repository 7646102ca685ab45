"""What the recording as a whole says: the command, how it ended, how long it took."""

from __future__ import annotations

import posixpath
import signal
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from compilescope.analysis.missing import of_process
from compilescope.analysis.report import Damage, Missing, ProcessInfo, RecordingInfo
from compilescope.model import Process, Run

_NO_LAUNCH = "the program was not started by `compilescope run`"


def recording_info(run: Run) -> RecordingInfo:
    launch, processes = run.launch, run.processes
    started_ns = _first(
        launch.get("started_ns"), min((p.start_ns for p in processes if p.start_ns), default=None)
    )
    ended_ns = _first(launch.get("ended_ns"), max((p.last_ns for p in processes if p.last_ns), default=None))
    counts_ns = max((p.counts_ns for p in processes if p.counts_ns), default=None)
    status = launch.get("exit_status")
    git: Mapping[str, Any] = launch.get("git") or {}
    missing = []
    if not git.get("revision"):
        why = (
            _NO_LAUNCH
            if not launch
            else "the working directory is in no git repository, or git did not answer"
        )
        missing += [Missing("git_revision", why), Missing("git_dirty", why)]
    elif git.get("dirty") is None:
        missing.append(Missing("git_dirty", "git did not say so in time"))
    if counts_ns is None:
        missing.append(Missing("counts_as_of", _why_no_counts(processes)))
    return RecordingInfo(
        path=run.path,
        command=[str(part) for part in launch.get("command") or (processes[0].argv if processes else ())],
        exit_status=status if isinstance(status, int) else None,
        started=_iso(started_ns),
        wall_s=round((ended_ns - started_ns) * 1e-9, 6) if started_ns and ended_ns else None,
        complete=all(p.complete for p in processes) and bool(processes or launch.get("ended_ns")),
        counts_as_of=_iso(counts_ns),
        ended=ended(launch, processes),
        size_bytes=run.size_bytes,
        name=_name(launch, processes),
        git_revision=git.get("revision"),
        git_dirty=git.get("dirty"),
        versions=dict(processes[0].versions) if processes else {},
        missing=missing,
    )


def _why_no_counts(processes: Sequence[Process]) -> str:
    if any(p.kind == "torch_trace" for p in processes):
        return "a TORCH_TRACE log has no run-time counts"
    if not any(p.graphs for p in processes):
        return "no graph was made whose calls could be counted"
    return "the processes ended before their first snapshot of the counters"


def process_info(process: Process) -> ProcessInfo:
    return ProcessInfo(
        id=process.id,
        pid=process.pid,
        rank=process.rank,
        world_size=process.world_size,
        torch=process.versions.get("torch"),
        python=process.versions.get("python"),
        device=process.device,
        missing=of_process(process),
        damage=[Damage(h.kind, h.where, h.detail) for h in process.holes],
        argv=list(process.argv),
        ended="closed its recording" if process.complete else "ended without closing its recording",
    )


def ended(launch: Mapping[str, Any], processes: Sequence[Process]) -> str | None:
    """ "exited 0", "killed by SIGKILL", "still running"; None when nobody watched it end."""
    if launch.get("signal"):
        return f"killed by {launch['signal']}"
    status = launch.get("exit_status")
    if isinstance(status, int):
        return f"exited {status}" if status <= 128 else _by_signal(status)
    if launch and launch.get("ended_ns") is None:
        return "still running" if not all(p.complete for p in processes) else None
    return None


def _by_signal(status: int) -> str:
    try:
        return f"exited {status} ({signal.Signals(status - 128).name})"
    except ValueError:
        return f"exited {status}"


def _name(launch: Mapping[str, Any], processes: Sequence[Process]) -> str:
    target = launch.get("target")
    if isinstance(target, Mapping) and target.get("name"):
        name = str(target["name"])
        return "-c" if target.get("kind") == "code" else posixpath.basename(name)
    for part in processes[0].argv[1:] if processes else ():
        if part.endswith(".py"):
            return posixpath.basename(part)
    return ""


def _first(*values: Any) -> int | None:
    return next((v for v in values if isinstance(v, int)), None)


def _iso(ns: int | None) -> str | None:
    try:
        return (
            None if ns is None else datetime.fromtimestamp(ns * 1e-9, UTC).isoformat(timespec="milliseconds")
        )
    except (ValueError, OverflowError, OSError):  # a damaged record: no such year
        return None
