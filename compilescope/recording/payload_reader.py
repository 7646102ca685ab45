"""The reading side of ``payloads.pack``."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

import msgspec
import zstandard

from compilescope.recording.damage import DamageLog
from compilescope.recording.format import DICTIONARY_CAP_BYTES, PAYLOAD_CAP_BYTES, Ref
from compilescope.recording.source import ByteSource

_DICTIONARIES_KEPT = 32
_RECENT_KEPT = 256
_RECENT_CAP_BYTES = 16 << 10


class _UnreadableError(Exception):
    """Its text says what was lost."""


class PayloadReader:
    """Fetches payloads by ref; a bad one is a damage entry, never an exception.

    While the file ``may_grow``, a ref beyond its end is "not yet": silently None.
    """

    def __init__(self, source: ByteSource | None, damage: DamageLog, may_grow: Callable[[], bool]) -> None:
        self._source = source
        self._damage = damage
        self._may_grow = may_grow
        self._dictionaries: OrderedDict[int, bytes] = OrderedDict()
        self._recent: OrderedDict[Ref, bytes] = OrderedDict()

    def content(self, ref: Ref) -> bytes | None:
        """Short texts are remembered for a while: one break met a thousand times is one payload."""
        known = self._recent.get(ref)
        if known is not None:
            return known
        content = self._fetched(ref)
        if content is not None and len(content) <= _RECENT_CAP_BYTES:
            self._recent[ref] = content
            if len(self._recent) > _RECENT_KEPT:
                self._recent.popitem(last=False)
        return content

    def _fetched(self, ref: Ref) -> bytes | None:
        if self._source is None:
            self._damage.add("payload-missing", "payloads.pack", ref.offset, "there is no payloads.pack")
            return None
        source = self._source
        try:
            if max(ref.offset + ref.zlen, (ref.dict_offset or 0) + (ref.dict_zlen or 0)) > source.size():
                if not self._may_grow():
                    detail = f"a payload of {ref.len} bytes lies beyond the end of the file"
                    self._damage.add("payload-missing", source.name, ref.offset, detail)
                return None
            content = self._read(source, ref)
            if hashlib.md5(content, usedforsecurity=False).hexdigest() != ref.md5:
                raise _UnreadableError(f"a payload of {ref.len} bytes does not have the hash it should")
        except (_UnreadableError, zstandard.ZstdError, OSError, MemoryError) as error:
            self._damage.add("payload-bad", source.name, ref.offset, str(error))
            return None
        return content

    def text(self, ref: Ref) -> str | None:
        content = self.content(ref)
        return None if content is None else content.decode("utf-8", "backslashreplace")

    def json(self, ref: Ref) -> object:
        content = self.content(ref)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError) as error:
            self._damage.add("payload-bad", "payloads.pack", ref.offset, f"not valid JSON: {error}")
            return None

    def _read(self, source: ByteSource, ref: Ref) -> bytes:
        dictionary = None
        if ref.dict_offset is not None:
            content = self._dictionary(source, ref)
            dictionary = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        return _decompress(source.pread(ref.zlen, ref.offset), ref.len, dictionary)

    def _dictionary(self, source: ByteSource, ref: Ref) -> bytes:
        assert ref.dict_offset is not None
        known = self._dictionaries.get(ref.dict_offset)
        if known is not None:
            return known
        frame = source.pread(ref.dict_zlen or 0, ref.dict_offset)
        content = _decompress(frame, ref.dict_len or 0, None)[:DICTIONARY_CAP_BYTES]
        self._dictionaries[ref.dict_offset] = content
        if len(self._dictionaries) > _DICTIONARIES_KEPT:
            self._dictionaries.popitem(last=False)
        return content


def _decompress(frame: bytes, size: int, dictionary: zstandard.ZstdCompressionDict | None) -> bytes:
    if size > PAYLOAD_CAP_BYTES:
        raise _UnreadableError(f"a payload of {size} bytes is larger than the limit of {PAYLOAD_CAP_BYTES}")
    # The frame's own size is what zstd allocates: it must not say more than the ref, which is capped.
    if zstandard.get_frame_parameters(frame).content_size != size:
        raise _UnreadableError("the frame is not of the size its reference says")
    # A decompressor per frame: one shared by two threads crashes.
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame)
