"""Where bytes are read from: a plain file, or a stored member of a zip file. Both read at any offset."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import zstandard

_CHUNK_BYTES = 1 << 20
_BOMB_BYTES = 1 << 30
_BOMB_RATIO = 200
"""Real lines compress 20 times; beyond a gigabyte, more than this is an attack."""


class ByteSource(Protocol):
    """``name`` is what messages call it. ``size()`` is asked anew each time: a live file grows."""

    name: str

    def size(self) -> int: ...
    def pread(self, count: int, offset: int) -> bytes: ...


class FileSource:
    """A file, or ``length`` bytes of it from ``start``. Owns the descriptor. Methods raise OSError."""

    def __init__(self, fd: int, name: str, *, start: int = 0, length: int | None = None) -> None:
        self.name = name
        self._fd = fd
        self._start = start
        self._length = length
        self._close = weakref.finalize(self, os.close, fd)

    def size(self) -> int:
        if self._length is not None:
            return self._length
        return os.fstat(self._fd).st_size - self._start

    def is_regular(self) -> bool:
        return stat.S_ISREG(os.fstat(self._fd).st_mode)

    def pread(self, count: int, offset: int) -> bytes:
        """At most ``count`` bytes; fewer only at the end."""
        if self._length is not None:
            count = min(count, self._length - offset)
        parts = []
        while count > 0:
            part = os.pread(self._fd, count, self._start + offset)
            if not part:
                break
            parts.append(part)
            count -= len(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def open_source(
    path: Path, name: str | None = None, *, start: int = 0, length: int | None = None
) -> FileSource:
    """Raises OSError; a FIFO or device is refused rather than waited for."""
    source = FileSource(
        os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK),
        name or path.name,
        start=start,
        length=length,
    )
    if not source.is_regular():
        raise OSError(f"{path} is not a regular file")
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

    def __init__(self) -> None:
        self.taken = 0
        self.given = 0

    def count(self, taken: int, given: int) -> None:
        self.taken += taken
        self.given += given
        if self.given > _BOMB_BYTES and self.given > _BOMB_RATIO * self.taken:
            raise BombError(f"{self.taken} bytes unpack to more than {self.given}")


def zstd_chunks(source: ByteSource) -> Iterator[bytes]:
    """The uncompressed bytes. Raises zstandard.ZstdError on damage, BombError on an endless stream."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    ration = Ration()
    # Small inputs: each may grow a thousandfold in one step.
    while part := source.pread(64 << 10, ration.taken):
        out = stream.decompress(part)
        ration.count(len(part), len(out))
        if out:
            yield out
        if stream.eof:
            return
    raise zstandard.ZstdError("the stream is cut")
