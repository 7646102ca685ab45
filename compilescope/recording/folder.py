"""One process's folder: its two files and its first line."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from compilescope.recording._line import LineEncoder
from compilescope.recording.appendfile import AppendFile
from compilescope.recording.format import EVENTS, MIN_READER, PAYLOADS, VERSION
from compilescope.recording.payloads import PayloadPack


class _Files(NamedTuple):
    events: AppendFile
    pack: PayloadPack


class ProcessFolder:
    """``rank{R}-pid{P}-{8 hex}`` or ``pid{P}-{8 hex}``, mode 0700. Methods raise OSError."""

    def __init__(self, path: Path, uuid: bytes) -> None:
        self.path = path
        self.has_head = False
        self._uuid = uuid
        # A process killed between the two leaves no events without a pack, which would read as damage.
        pack = PayloadPack(path / PAYLOADS, uuid)
        try:
            self._files = _Files(AppendFile(path / EVENTS), pack)
        except OSError:
            pack.file.close()
            raise

    @classmethod
    def create(cls, root: Path, rank: int | None) -> ProcessFolder:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        uuid = uuid4()
        prefix = "" if rank is None else f"rank{rank}-"
        path = root / f"{prefix}pid{os.getpid()}-{uuid.hex[:8]}"
        path.mkdir(mode=0o700)
        try:
            return cls(path, uuid.bytes)
        except OSError:
            # Retried later under another name: leave no heap of empty folders on a full disk.
            shutil.rmtree(path, ignore_errors=True)
            raise

    @property
    def pack(self) -> PayloadPack:
        return self._files.pack

    def write_head(self, head: Mapping[str, object]) -> None:
        fields: dict[str, Any] = {
            "v": VERSION,
            "min_reader": MIN_READER,
            "uuid": self._uuid.hex(),
            "start_ns": time.time_ns(),
            "mono_ns": time.monotonic_ns(),
            "host": socket.gethostname(),
            **head,
            "pid": os.getpid(),
            "ppid": os.getppid(),
        }
        self.append_line(LineEncoder(self.pack).encode("head", fields, None, None, None, None, None))
        self.has_head = True

    def append_line(self, line: bytes) -> None:
        events = self._files.events
        # A fragment of a failed write is closed off first, or two records would fuse.
        events.append(b"\n" + line if events.torn else line)

    def sync(self) -> None:
        self._files.pack.file.sync()
        self._files.events.sync()

    def close(self) -> None:
        try:
            self._files.events.close()
        finally:
            self._files.pack.file.close()
