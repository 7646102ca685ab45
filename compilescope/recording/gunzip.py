"""Gzip, member after member as collectors append them, down to the last byte before a damage."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from compilescope.recording.source import Ration

_GZIP = 31
_PIECE_BYTES = 4 << 20


def gunzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The uncompressed bytes, at most 4 MiB each. Raises zlib.error, EOFError if it is cut, BombError."""
    ration = Ration()
    stream = zlib.decompressobj(_GZIP)
    for piece in pieces:
        ration.count(len(piece), 0)
        while piece:
            if stream.eof:
                stream = zlib.decompressobj(_GZIP)
            before = stream.copy()
            try:
                out = stream.decompress(piece, _PIECE_BYTES)
            except zlib.error:
                yield from _salvage(before, piece)
                raise
            ration.count(0, len(out))
            if out:
                yield out
            piece = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise EOFError


def _salvage(stream: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    """zlib keeps back all that one call gave if the call fails: byte by byte, only the last is lost."""
    held = bytearray()
    for position in range(len(piece)):
        try:
            held += stream.decompress(piece[position : position + 1])
        except zlib.error:
            break
        if len(held) >= _PIECE_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held)
