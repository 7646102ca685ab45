"""Where bytes are read from: a plain file, or a stored member of a zip file. Both read at any offset."""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import zstandard

_CHUNK_BYTES = 1 << 20
_BOMB_BYTES = 1 << 30
_BOMB_RATIO = 200
"""Real logs compress 20 times; beyond a gigabyte, more than this would only fill the disk."""
STREAM_RATIO = 5000
"""For what is read as it comes and never kept: compiles that all look the same compress very well."""


class ByteSource(Protocol):
    """``name`` is what messages call it. ``size()`` is asked anew each time: a live file grows."""

    name: str

    def size(self) -> int: ...
    def pread(self, count: int, offset: int) -> bytes: ...


class FileSource:
    """A file, or ``length`` bytes of it from ``start``. Opened anew for each read: recordings of a thousand
    ranks must not hold two thousand descriptors. Methods raise OSError.
    """

    def __init__(self, path: Path, name: str, *, start: int = 0, length: int | None = None) -> None:
        self.name = name
        self._path = path
        self._start = start
        self._length = length

    def size(self) -> int:
        return self._path.stat().st_size - self._start if self._length is None else self._length

    def pread(self, count: int, offset: int) -> bytes:
        """At most ``count`` bytes, fewer only at the end. A FIFO or device is refused, not waited for."""
        if self._length is not None:
            count = min(count, self._length - offset)
        fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(f"{self.name} is not a regular file")
            return _pread_all(fd, count, self._start + offset)
        finally:
            os.close(fd)


class TemporarySource:
    """A nameless temporary file: what had to be unpacked to be read at any offset."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when this object goes
        self._close = weakref.finalize(self, self._file.close)

    def append(self, content: bytes) -> None:
        self._file.write(content)

    def size(self) -> int:
        self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def pread(self, count: int, offset: int) -> bytes:
        self._file.flush()
        return _pread_all(self._file.fileno(), count, offset)


def _pread_all(fd: int, count: int, offset: int) -> bytes:
    parts = []
    while count > 0:
        part = os.pread(fd, count, offset)
        if not part:
            break
        parts.append(part)
        count -= len(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def open_source(path: Path, name: str | None = None) -> FileSource:
    """Raises OSError at once if the file cannot be read."""
    source = FileSource(path, name or path.name)
    source.pread(1, 0)
    return source


class BombError(Exception):
    """A compressed stream grows beyond reason."""


def chunks(source: ByteSource, offset: int = 0) -> Iterator[bytes]:
    """The bytes from ``offset`` to the present end, about a megabyte each."""
    while part := source.pread(_CHUNK_BYTES, offset):
        offset += len(part)
        yield part


class Ration:
    """Watches a decompression; raises BombError once far too much has come out of too little."""

    def __init__(self, ratio: int = _BOMB_RATIO) -> None:
        self.taken = 0
        self.given = 0
        self._ratio = ratio

    def count(self, taken: int, given: int) -> None:
        self.taken += taken
        self.given += given
        if self.given > _BOMB_BYTES and self.given > self._ratio * self.taken:
            raise BombError(f"{self.taken} bytes unpack to more than {self.given}")


def zstd_chunks(source: ByteSource, ratio: int = _BOMB_RATIO) -> Iterator[bytes]:
    """The uncompressed bytes. Raises zstandard.ZstdError on damage, BombError on an endless stream."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    ration = Ration(ratio)
    # Small inputs: each may grow a thousandfold in one step.
    while part := source.pread(64 << 10, ration.taken):
        out = stream.decompress(part)
        ration.count(len(part), len(out))
        if out:
            yield out
        if stream.eof:
            return
    raise zstandard.ZstdError("the stream is cut")
