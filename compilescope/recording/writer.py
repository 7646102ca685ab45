"""Writes one process's recording, inline, while the user's program compiles.

No queue and no buffer: what ``record`` returned True for survives SIGKILL. A payload is written before the
line that names it. Nothing here may raise into the user's program or use the parent's files after a fork.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from compilescope.recording._line import LineEncoder
from compilescope.recording.appendfile import DescriptorLostError
from compilescope.recording.folder import ProcessFolder

Head = Mapping[str, object] | Callable[[], Mapping[str, object]]
_Arguments = tuple[Any, ...]

_RETRY_S = 1.0
"""After a failed write, nothing is tried for so long: a full disk must not cost a system call per event."""


class Writer:
    """Thread-safe and fork-aware: a forked child gets a folder of its own at its first record.

    ``root`` is the ``NAME.compilescope`` folder; nothing is created before the first record. ``head`` (or
    what it returns, asked again in a forked child) joins line 1, which also gets pid, ppid, host and times.
    ``on_failure`` is called once, with a sentence, if the recording cannot be written.
    """

    def __init__(
        self,
        root: Path,
        head: Head,
        *,
        rank: int | None = None,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self._root = Path(root).absolute()
        self._head = head
        self._rank = rank
        self._on_failure = on_failure
        self._failed = False
        self._names: dict[str, int] = {}
        self._paths: list[str] = []
        self._reset()
        _living.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._busy = False
        self._closed = False
        self._folder: ProcessFolder | None = None
        self._deferred: list[_Arguments] = []
        self._losses: dict[str, tuple[int, int]] = {}
        self._names_written = 0
        self._retry_at_s = 0.0

    @property
    def folder(self) -> Path | None:
        """The process folder, once there is one."""
        return self._folder.path if self._folder is not None else None

    def record(
        self,
        kind: str,
        fields: Mapping[str, object] | None = None,
        *,
        c: tuple[int | None, ...] | None = None,
        ca: int | None = None,
        payload: str | bytes | None = None,
        payload_kind: str | None = None,
        md5: str | None = None,
    ) -> bool:
        """Writes one line; True if it lies in the file. What cannot be written is counted as lost.

        ``md5`` is the digest of the payload's UTF-8 bytes, if known. ``fields`` may override ``t`` (unix ns)
        and ``th`` (thread ident).
        """
        return self._enter((kind, fields, c, ca, payload, payload_kind, md5))

    def file_id(self, path: str) -> int:
        """The path's number in this recording's string table, whose ``name`` records precede their use."""
        path = str(path)
        known = self._names.get(path)
        if known is not None:
            return known
        with self._lock:
            if path not in self._names:
                self._paths.append(path)
                self._names[path] = len(self._paths) - 1
            return self._names[path]

    def lost(self, why: str, n: int = 1) -> None:
        """Counts ``n`` facts that could not be recorded; a ``lost`` record says so as soon as possible."""
        self._count_lost(why, n)
        self._enter(None)

    def sync(self) -> None:
        """Asks for the files to reach the disk, and other hosts. Slow: only for a thread of our own."""
        folder = self._folder
        try:
            if folder is not None:
                folder.sync()
        except OSError:
            pass

    def close(self, how: str = "atexit") -> None:
        """Writes the ``end`` record, if there is a recording, and closes the files; refuses later records."""
        with self._lock:
            if self._closed or os.getpid() != self._pid:
                return
            self._retry_at_s = 0.0
            if self._folder is not None or self._losses:
                self._enter(("end", {"how": how}, None, None, None, None, None))
            self._closed = True
            _close(self._folder)
            self._folder = None

    def _enter(self, arguments: _Arguments | None) -> bool:
        if os.getpid() != self._pid:
            self._after_fork()
        with self._lock:
            if self._closed:
                return False
            if self._busy:
                # A signal handler or a finalizer ran inside our own write: its record follows ours.
                if arguments is not None:
                    self._deferred.append(arguments)
                return arguments is not None
            self._busy = True
            try:
                written = self._attempt(arguments)
                while self._deferred:
                    self._attempt(self._deferred.pop(0))
            finally:
                self._busy = False
            return written

    def _attempt(self, arguments: _Arguments | None) -> bool:
        kind = arguments[0] if arguments is not None else "lost"
        if time.monotonic() < self._retry_at_s:
            self._count_lost("not written", arguments is not None)
            return False
        try:
            try:
                self._write(arguments)
            except DescriptorLostError:
                self._abandon()
                self._write(arguments)
        except OSError as error:
            self._count_lost("not written", arguments is not None)
            self._fail(error)
            return False
        except Exception as error:
            self._count_lost(f"not encodable: {kind}: {type(error).__name__}", arguments is not None)
            return False
        return True

    def _write(self, arguments: _Arguments | None) -> None:
        folder = self._folder
        if folder is None:
            folder = self._folder = ProcessFolder.create(self._root, self._rank)
        if not folder.has_head:
            folder.write_head(self._ask_head())
        if self._losses:
            self._write_losses(folder)
        if arguments is None:
            return
        line = LineEncoder(folder.pack).encode(*arguments)
        if self._names_written < len(self._paths):
            self._write_names(folder)
        folder.append_line(line)

    def _ask_head(self) -> Mapping[str, object]:
        try:
            return self._head() if callable(self._head) else self._head
        except Exception as error:
            self._count_lost(f"head: {type(error).__name__}", 1)
            return {}

    def _write_names(self, folder: ProcessFolder) -> None:
        for number in range(self._names_written, len(self._paths)):
            fields = {"f": number, "s": self._paths[number]}
            folder.append_line(LineEncoder(folder.pack).encode("name", fields, None, None, None, None, None))
            self._names_written = number + 1

    def _write_losses(self, folder: ProcessFolder) -> None:
        for why, (n, since_ns) in list(self._losses.items()):
            fields = {"why": why, "n": n, "since": since_ns}
            folder.append_line(LineEncoder(folder.pack).encode("lost", fields, None, None, None, None, None))
            del self._losses[why]

    def _count_lost(self, why: str, n: int) -> None:
        if n > 0:
            before, since_ns = self._losses.get(why, (0, time.time_ns()))
            self._losses[why] = (before + n, since_ns)

    def _fail(self, error: OSError) -> None:
        self._retry_at_s = time.monotonic() + _RETRY_S
        if self._failed or self._on_failure is None:
            return
        self._failed = True
        where = error.filename or self.folder or self._root
        try:
            self._on_failure(f"cannot write the recording: {where}: {error.strerror or error}")
        except Exception:
            pass

    def _abandon(self) -> None:
        """The program took a descriptor from us. No file is opened twice: the rest goes to a new folder."""
        _close(self._folder)
        self._folder = None
        self._names_written = 0

    def _after_fork(self) -> None:
        folder = self._folder
        # The parent's lock may be held for ever, and the file position is shared with it.
        self._reset()
        _close(folder)


def _close(folder: ProcessFolder | None) -> None:
    try:
        if folder is not None:
            folder.close()
    except OSError:
        pass


_living: weakref.WeakSet[Writer] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for writer in list(_living):
        writer._after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)
