"""Reads one process folder, or the same two members inside a zip file, dead or still being written."""

from __future__ import annotations

import os
import re
import socket
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator

import zstandard

from compilescope.errors import RecordingTooNew
from compilescope.recording.format import VERSION, Record, Ref
from compilescope.recording.lines import LineSplitter, decode_line, is_of_kind
from compilescope.recording.payload_reader import PayloadReader
from compilescope.recording.process import ProcessRecording, gc_paused
from compilescope.recording.selection import Selection
from compilescope.recording.source import STREAM_RATIO, BombError, ByteSource, chunks, zstd_chunks

_REMOTE_LIVE_S = 120
_TAIL_BYTES = 4096
_BATCH = 64  # records that the processor keeps at hand until they are used and gone
Lines = Iterable[tuple[int, bytes]]
_NAME = re.compile(r"(?:rank(?P<rank>\d{1,9})-)?pid(?P<pid>\d{1,9})-[0-9a-f]{8}", re.ASCII)


class FolderProcess(ProcessRecording):
    """``read_to`` is the offset after the last complete line read: where a reader of a live file goes on."""

    kind = "recording"

    def __init__(
        self, process_id: str, events: ByteSource, pack: ByteSource | None, *, modified_s: float, packed: bool
    ) -> None:
        super().__init__(process_id)
        self.read_to = 0
        self._events = events
        self._packed = packed
        self._packed_complete: bool | None = None
        self._modified_s = modified_s
        self._payloads = PayloadReader(pack, self._damage, lambda: self.live)
        self._files: dict[int, str] = {}
        self._has_all_names = False
        self._read_head()

    @property
    def complete(self) -> bool:
        if self._packed:
            if self._packed_complete is None:
                self._packed_complete = any(True for _ in self.records(("end",)))
            return self._packed_complete
        size = self._events.size()
        tail = self._events.pread(_TAIL_BYTES, max(0, size - _TAIL_BYTES))
        return b'\n{"k":"end"' in tail and tail.endswith(b"\n")

    @property
    def live(self) -> bool:
        """Whether the process may still be writing."""
        if self._packed or self.complete:
            return False
        pid = self.head.get("pid")
        if self.head.get("host") == socket.gethostname() and type(pid) is int:
            return _is_running(pid)
        return time.time() - self._modified_s < _REMOTE_LIVE_S

    def records(self, wanted: Collection[str] | Selection | None = None, start: int = 0) -> Iterator[Record]:
        """As in the base class; ``start`` is an offset where a line begins, such as ``read_to`` of before."""
        splitter = LineSplitter(self._events.name, self._damage, start)
        if start == 0:
            self._damage.restart()
        if isinstance(wanted, Selection):
            wanted.restart()
        for chunk in self._chunks(start):
            lines = splitter.feed(chunk)
            for first in range(0, len(lines), _BATCH):
                with gc_paused():
                    batch = list(self._decode(lines[first : first + _BATCH], wanted))
                yield from batch
        self.read_to = splitter.read_to
        if start == 0 and (wanted is None or "name" in _kinds(wanted)):
            self._has_all_names = True
        if splitter.tail_bytes and not self.live:
            detail = f"the last record is cut after {splitter.tail_bytes} bytes"
            self._damage.add("torn-line", self._events.name, splitter.read_to, detail)

    def file(self, number: int | None) -> str | None:
        if number is None:
            return None
        if number not in self._files and (not self._has_all_names or self.live):
            self._has_all_names = True
            deque(self.records(("name",)), maxlen=0)  # each is learned when it is read
        return self._files.get(number)

    def text(self, value: object) -> str | None:
        if type(value) is Ref:
            return self._payloads.text(value)
        return value if isinstance(value, str) else None

    def _chunks(self, start: int) -> Iterator[bytes]:
        try:
            yield from (
                _skip(zstd_chunks(self._events, STREAM_RATIO), start)
                if self._packed
                else chunks(self._events, start)
            )
        except zstandard.ZstdError as error:
            self._damage.add(
                "packed-bad", self._events.name, 0, f"the packed events cannot be unpacked: {error}"
            )
        except BombError as error:
            self._damage.add("bomb", self._events.name, 0, str(error))
        except OSError as error:
            self._damage.add("unreadable", self._events.name, 0, str(error))

    def _decode(self, lines: Lines, wanted: Collection[str] | Selection | None) -> Iterator[Record]:
        if isinstance(wanted, Selection):
            yield from self._select(lines, wanted)
            return
        kinds = frozenset(kind.encode() for kind in wanted) if wanted is not None else None
        for offset, line in lines:
            if kinds is not None and not is_of_kind(line, kinds):
                continue
            record = self._record(line, offset)
            if record is not None and (wanted is None or record.k in wanted):
                yield record

    def _select(self, lines: Lines, selection: Selection) -> Iterator[Record]:
        for offset, line in lines:
            if selection.passes(line):
                continue
            record = self._record(line, offset)
            if record is not None and selection.takes(record):
                yield record

    def _record(self, line: bytes, offset: int) -> Record | None:
        record = decode_line(line, offset, self._events.name, self._damage, self._payloads.json)
        if record is not None and record.k == "name":
            self._learn_name(record)
        return record

    def _read_head(self) -> None:
        self.head = _from_name(self.id)
        first = next(self.records(), None)
        if first is None or first.k != "head":
            if first is not None or not self.live:
                self._damage.add("no-head", self._events.name, 0, "the first record, which names the process")
            return
        self.head |= first.x
        min_reader = first.x.get("min_reader")
        if type(min_reader) is int and min_reader > VERSION:
            raise RecordingTooNew(
                f"{self.id}: this recording needs a CompileScope that reads format {min_reader}; "
                f"this one reads format {VERSION}.",
                hint="Update CompileScope on this machine: pip install -U compilescope",
            )

    def _learn_name(self, record: Record) -> None:
        number, path = record.x.get("f"), self.text(record.x.get("s"))
        if type(number) is int and path is not None:
            self._files[number] = path


def _kinds(wanted: Collection[str] | Selection) -> Collection[str]:
    return wanted.kinds if isinstance(wanted, Selection) else wanted


def _from_name(folder: str) -> dict[str, int]:
    """The rank and pid that the folder's name tells, for when the first record is lost."""
    found = _NAME.fullmatch(folder)
    return {} if found is None else {key: int(n) for key, n in found.groupdict().items() if n is not None}


def _skip(parts: Iterable[bytes], count: int) -> Iterator[bytes]:
    for part in parts:
        if count < len(part):
            yield part[count:]
        count = max(0, count - len(part))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
