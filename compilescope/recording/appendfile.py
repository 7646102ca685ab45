"""A file that only this process appends to, written at once, without buffer, lock or fsync."""

from __future__ import annotations

import os
from pathlib import Path


class DescriptorLostError(OSError):
    """The descriptor no longer is our file: daemons close all they have, and open their own."""


class AppendFile:
    """Created with mode 0600; never opened again. ``size`` is the number of bytes that surely lie in it.

    ``torn`` is true from the first byte of an append to its last: after a full disk or an interrupt it tells
    that the file ends in a fragment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.torn = False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(path, flags, 0o600)
        self._identity = _identity(self._fd)

    def append(self, content: bytes) -> int:
        """Writes all of it; returns the offset of its first byte. Raises OSError, DescriptorLostError."""
        if _identity(self._fd) != self._identity:
            raise DescriptorLostError(f"{self.path}: the program closed our file")
        if self.torn:
            self.size = os.lseek(self._fd, 0, os.SEEK_CUR)
        offset = self.size
        self.torn = True
        written = os.write(self._fd, content)
        if written != len(content):
            view = memoryview(content)
            while written < len(content):
                written += os.write(self._fd, view[written:])
        self.size = offset + written
        self.torn = False
        return offset

    def sync(self) -> None:
        """Asks the kernel to put it on disk; may take long. Never called in a thread of the user's."""
        if _identity(self._fd) == self._identity:
            os.fdatasync(self._fd)

    def close(self) -> None:
        """Closes the descriptor if it still is ours. Raises OSError: a network disk may only now be full."""
        fd, self._fd = self._fd, -1
        if fd >= 0 and _identity(fd) == self._identity:
            os.close(fd)


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino
