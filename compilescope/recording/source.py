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
    """A regular file, or a part of it. Raises OSError; a FIFO or device is refused rather than waited for."""

    def __init__(self, path: Path, name: str | None = None, *, start: int = 0, length: int | None = None):
        self.name = name or path.name
        self._start = start
        self._length = length
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self._close = weakref.finalize(self, os.close, self._fd)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self._close()
            raise OSError(f"{path} is not a regular file")

    def size(self) -> int:
        if self._length is not None:
            return self._length
        return os.fstat(self._fd).st_size - self._start

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


class BombError(Exception):
    """A compressed stream grows beyond reason."""


def chunks(source: ByteSource, offset: int = 0) -> Iterator[bytes]:
    """The bytes from ``offset`` to the present end, about a megabyte each."""
    while part := source.pread(_CHUNK_BYTES, offset):
        offset += len(part)
        yield part


def zstd_chunks(source: ByteSource) -> Iterator[bytes]:
    """The uncompressed bytes. Raises zstandard.ZstdError on damage, BombError on an endless stream."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    taken = given = 0
    # Small inputs: each may grow a thousandfold in one step.
    while part := source.pread(64 << 10, taken):
        taken += len(part)
        out = stream.decompress(part)
        given += len(out)
        if given > _BOMB_BYTES and given > _BOMB_RATIO * taken:
            raise BombError(f"{given} bytes came out of {taken}")
        if out:
            yield out
        if stream.eof:
            return
    raise zstandard.ZstdError("the stream is cut")
