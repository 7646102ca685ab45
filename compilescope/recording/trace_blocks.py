"""Splits a TORCH_TRACE log into records: a header line and the tab-led payload lines that follow it.

A record that fits in 8 MiB is handed over as a slice of the buffer; a larger payload is only hashed as it
passes by, so memory stays bounded whatever the file holds.
"""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

_BOUNDARY = re.compile(rb"\n(?=[^\t\n])").search
_BLANK_LINES = re.compile(rb"\n\n+")
_HELD_BYTES = 8 << 20
_TAB, _NEWLINE = 9, 10


class BlockHandler(Protocol):
    def block(
        self, buffer: bytes, base: int, header: int, header_end: int, body: int, body_end: int, at_eof: bool
    ) -> None:
        """A record in ``buffer``, which begins at file offset ``base``; the body ends before its newline."""

    def streamed(self, header: bytes, offset: int, body: int, size: int, md5: str, at_eof: bool) -> None:
        """A record too large to hold: offsets in the file, ``md5`` of the payload with its tabs taken off."""

    def too_long(self, offset: int, size: int) -> None:
        """A line of ``size`` bytes that cannot be a header."""


class BlockSplitter:
    """Feed it the file in pieces of any size, then ``finish``."""

    def __init__(self, handler: BlockHandler) -> None:
        self._handler = handler
        self._rest = b""
        self._base = 0
        self._stream: _Stream | None = None
        self._skipping = 0

    def feed(self, chunk: bytes) -> None:
        if self._skipping:
            chunk = self._skip_line(chunk)
        if self._stream is not None:
            chunk = self._pass_by(chunk)
        if not chunk and not self._rest:
            return
        buffer = self._rest + chunk if self._rest else chunk
        consumed = self._split(buffer, final=False)
        self._rest = buffer[consumed:]
        self._base += consumed
        if len(self._rest) > _HELD_BYTES:
            self._let_go()

    def finish(self) -> None:
        if self._stream is not None:
            self._end_stream(at_eof=True)
        elif self._skipping:
            self._handler.too_long(self._base - self._skipping, self._skipping)
        elif self._rest:
            self._split(self._rest, final=True)
        self._rest = b""

    def _split(self, buffer: bytes, *, final: bool) -> int:
        """Hands over every record that is complete; returns how many bytes are done with."""
        position, length, base = 0, len(buffer), self._base
        find, block = buffer.find, self._handler.block
        while position < length:
            end = find(b"\n", position)
            if end < 0:
                if final:
                    block(buffer, base, position, length, length, length, True)
                    return length
                return position
            if end == position:
                position += 1
                continue
            if end + 1 >= length:
                if final:
                    block(buffer, base, position, end, end, end, True)
                    return length
                return position
            following = buffer[end + 1]
            if following != _TAB and following != _NEWLINE:
                block(buffer, base, position, end, end, end, False)
                position = end + 1
                continue
            boundary = _BOUNDARY(buffer, end + 1)
            if boundary is None and not final:
                return position
            body_end = next_position = length if boundary is None else boundary.start()
            while body_end > end + 1 and buffer[body_end - 1] == _NEWLINE:
                body_end -= 1
            block(buffer, base, position, end, end + 1, body_end, boundary is None)
            position = next_position + 1
        return position

    def _let_go(self) -> None:
        """What is held has grown too large: its payload is hashed as it passes, or its line skipped."""
        end = self._rest.find(b"\n")
        if end < 0:
            self._skipping = len(self._rest)
            self._base += len(self._rest)
            self._rest = b""
            return
        self._stream = _Stream(self._rest[:end], self._base, self._base + end + 1)
        body = self._rest[end + 1 :]
        self._base += end + 1
        self._rest = b""
        self._base += len(body)
        self._stream.feed(body)

    def _pass_by(self, chunk: bytes) -> bytes:
        assert self._stream is not None
        boundary = self._stream.find_end(chunk)
        if boundary is None:
            self._stream.feed(chunk)
            self._base += len(chunk)
            return b""
        self._stream.feed(chunk[:boundary])
        self._base += boundary
        self._end_stream(at_eof=False)
        return chunk[boundary:]

    def _end_stream(self, *, at_eof: bool) -> None:
        stream, self._stream = self._stream, None
        assert stream is not None
        size = self._base - stream.body - stream.trailing
        self._handler.streamed(stream.header, stream.offset, stream.body, size, stream.md5(), at_eof)

    def _skip_line(self, chunk: bytes) -> bytes:
        end = chunk.find(b"\n")
        taken = len(chunk) if end < 0 else end + 1
        self._skipping += taken
        self._base += taken
        if end >= 0:
            self._handler.too_long(self._base - self._skipping, self._skipping)
            self._skipping = 0
        return chunk[taken:]


class _Stream:
    """The md5 of a payload that passes by. A newline at the end of a piece waits for what follows it."""

    def __init__(self, header: bytes, offset: int, body: int) -> None:
        self.header = header
        self.offset = offset
        self.body = body
        self._hash = hashlib.md5(usedforsecurity=False)
        self._held = b""
        self._begun = False
        self.trailing = 0
        """How many newlines the payload seen so far ends in: they are not part of it."""

    def find_end(self, chunk: bytes) -> int | None:
        """Where in the chunk the next record begins."""
        if self._held and chunk[:1] not in (b"\t", b"\n"):
            return 0
        boundary = _BOUNDARY(chunk)
        return None if boundary is None else boundary.start() + 1

    def feed(self, chunk: bytes) -> None:
        kept = len(chunk.rstrip(b"\n"))
        self.trailing = len(chunk) - kept + (0 if kept else self.trailing)
        content = self._held + chunk
        if b"\n\n" in content:
            content = _BLANK_LINES.sub(b"\n", content)
        self._held = b"\n" if content.endswith(b"\n") else b""
        if self._held:
            content = content[:-1]
        if not self._begun and content:
            self._begun = True
            content = content.removeprefix(b"\n").removeprefix(b"\t")
        self._hash.update(content.replace(b"\n\t", b"\n"))

    def md5(self) -> str:
        return self._hash.hexdigest()
