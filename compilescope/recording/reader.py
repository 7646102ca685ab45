"""Opens whatever a person calls a recording."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from compilescope.errors import RecordingError, RecordingNotFound
from compilescope.recording.damage import DamageLog
from compilescope.recording.format import EVENTS, PAYLOADS, RUN, Damage
from compilescope.recording.process import ProcessRecording
from compilescope.recording.process_folder import FolderProcess
from compilescope.recording.run_file import parse_run
from compilescope.recording.source import open_source
from compilescope.recording.trace_files import find_trace_logs, is_trace_log, read_trace_logs
from compilescope.recording.zipped import is_zip, open_zip

_RUN_CAP_BYTES = 4 << 20


class Recording:
    """What was recorded of one run. ``run`` is what the parent process wrote about it, None if there is none.

    ``damage`` concerns the recording as a whole; each process has its own. ``size_bytes`` is that on disk.
    """

    def __init__(
        self,
        path: Path,
        processes: list[ProcessRecording],
        run: dict[str, Any] | None,
        size_bytes: int,
        damage: list[Damage],
    ) -> None:
        self.path = path
        self.processes = processes
        self.run = run
        self.size_bytes = size_bytes
        self.damage = damage


def open_recording(path: Path | str) -> Recording:
    """Opens a recording folder, one process folder, a packed zip file, a TORCH_TRACE log or a folder of them.

    Raises RecordingNotFound, RecordingTooNew, or RecordingError if nothing in it can be read.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _open_folder(path)
        if not stat.S_ISREG(mode):
            raise RecordingError(f"{path} is neither a folder nor a regular file.")
        if path.name == EVENTS:
            return _open_folder(path.absolute().parent)
        if is_zip(path):
            return _open_zip(path)
        if is_trace_log(path):
            return _open_trace_logs(path, [path])
    except FileNotFoundError:
        raise RecordingNotFound(f"There is no recording at {path}.") from None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}.") from error
    raise RecordingError(f"{path} is neither a recording nor a TORCH_TRACE log.")


def _open_folder(path: Path) -> Recording:
    damage = DamageLog()
    if (path / EVENTS).is_file():
        folders, run_path = [path], path.absolute().parent / RUN
    else:
        folders, run_path = sorted(p.parent for p in path.glob(f"*/{EVENTS}")), path / RUN
    run = _read_run(run_path, damage)
    if not folders and run is None and (logs := find_trace_logs(path)):
        return _open_trace_logs(path, logs)
    if not folders and run is None:
        raise RecordingError(f"There is no recording in {path}.")
    processes: list[ProcessRecording] = []
    for folder in folders:
        try:
            processes.append(_open_process(folder))
        except OSError as error:
            damage.add("unreadable", f"{folder.name}/{EVENTS}", 0, error.strerror or str(error))
    processes.sort(key=_by_rank_and_start)
    size_bytes = sum(p.stat().st_size for folder in folders for p in folder.iterdir() if p.is_file())
    return Recording(path, processes, run, size_bytes, damage.entries())


def _open_process(folder: Path) -> FolderProcess:
    # The names of files that messages give: the folder tells processes apart.
    events = open_source(folder / EVENTS, f"{folder.name}/{EVENTS}")
    pack, damage = None, DamageLog()
    try:
        pack = open_source(folder / PAYLOADS, f"{folder.name}/{PAYLOADS}")
    except OSError as error:
        damage.add("unreadable", f"{folder.name}/{PAYLOADS}", 0, error.strerror or str(error))
    modified_s = (folder / EVENTS).stat().st_mtime
    process = FolderProcess(folder.name, events, pack, modified_s=modified_s, packed=False)
    process.absorb(damage)
    return process


def _open_zip(path: Path) -> Recording:
    damage = DamageLog()
    processes, run_bytes = open_zip(path)
    run = parse_run(run_bytes, damage) if run_bytes is not None else None
    if not processes and run is None:
        raise RecordingError(f"There is no recording in {path}.")
    ordered: list[ProcessRecording] = sorted(processes, key=_by_rank_and_start)
    return Recording(path, ordered, run, path.stat().st_size, damage.entries())


def _open_trace_logs(path: Path, logs: list[Path]) -> Recording:
    damage = DamageLog()
    processes: list[ProcessRecording] = sorted(read_trace_logs(logs, damage), key=_by_rank_and_start)
    if not any(next(process.records(), None) for process in processes):
        entries = damage.entries()
        first = f": {entries[0].kind} at {entries[0].where}, {entries[0].detail}" if entries else ""
        raise RecordingError(f"{path} has no record that can be read{first}.")
    size_bytes = sum(log.stat().st_size for log in logs)
    return Recording(path, processes, None, size_bytes, damage.entries())


def _read_run(path: Path, damage: DamageLog) -> dict[str, Any] | None:
    try:
        source = open_source(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        damage.add("unreadable", RUN, 0, error.strerror or str(error))
        return None
    return parse_run(source.pread(_RUN_CAP_BYTES, 0), damage)


def _by_rank_and_start(process: ProcessRecording) -> tuple[int, int, str]:
    rank, start_ns = process.head.get("rank"), process.head.get("start_ns")
    return (
        rank if type(rank) is int else 1 << 30,
        start_ns if type(start_ns) is int else 0,
        process.id,
    )
