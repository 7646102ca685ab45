"""The writing side of ``payloads.pack``: zstd frames, addressed by the md5 of their content.

The first payload of a kind is the dictionary of all later ones of that kind: recompiles of one function
repeat almost the same text, so this takes 4-5 times off, and reading a frame needs one other frame at most.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import zstandard

from compilescope.recording.appendfile import AppendFile
from compilescope.recording.format import DICTIONARY_CAP_BYTES

Extent = list[int | str]
"""``[offset, zlen, len, md5]``, and ``dict_offset, dict_zlen, dict_len`` if there is a dictionary."""

_LEVEL = 3
_MIN_DICTIONARY_BYTES = 256
_MAX_DICTIONARIES = 256
_MAX_REMEMBERED = 65_536
_SKIPPABLE_MAGIC = 0x184D2A50


class _Dictionary:
    __slots__ = ("content", "extent")

    def __init__(self, extent: Extent, content: bytes) -> None:
        self.extent = extent
        self.content = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class PayloadPack:
    """Not thread-safe: the writer holds its lock. ``add`` raises OSError."""

    def __init__(self, path: Path, uuid: bytes) -> None:
        self.file = AppendFile(path)
        self._extents: dict[str, Extent] = {}
        self._dictionaries: dict[str, _Dictionary] = {}
        self.file.append(_SKIPPABLE_MAGIC.to_bytes(4, "little") + len(uuid).to_bytes(4, "little") + uuid)

    def add(self, content: bytes, kind: str, md5: str | None = None) -> Extent:
        """Where ``content`` lies now. ``md5``: its digest in hex, if the caller already knows it."""
        digest = md5 or hashlib.md5(content, usedforsecurity=False).hexdigest()
        known = self._extents.get(digest)
        if known is not None and known[2] == len(content):
            return known
        dictionary = self._dictionaries.get(kind)
        frame = _compress(content, dictionary)
        extent: Extent = [self.file.append(frame), len(frame), len(content), digest]
        if dictionary is not None:
            extent += dictionary.extent[:3]
        elif len(content) >= _MIN_DICTIONARY_BYTES and len(self._dictionaries) < _MAX_DICTIONARIES:
            self._dictionaries[kind] = _Dictionary(extent, content[:DICTIONARY_CAP_BYTES])
        self._remember(digest, extent)
        return extent

    def _remember(self, digest: str, extent: Extent) -> None:
        if len(self._extents) >= _MAX_REMEMBERED:
            del self._extents[next(iter(self._extents))]
        self._extents[digest] = extent


def _compress(content: bytes, dictionary: _Dictionary | None) -> bytes:
    # A compressor per payload: a kept one holds half a megabyte, and one shared by threads crashes.
    dict_data = dictionary.content if dictionary is not None else None
    compressor = zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=dict_data, write_checksum=True, write_content_size=True
    )
    return compressor.compress(content)
