"""The string table of a TORCH_TRACE log: file names by number, left where they are until asked for."""

from __future__ import annotations

from array import array
from typing import Any

from compilescope.recording.source import ByteSource
from compilescope.recording.trace_header import HEADER, SEARCHED_BYTES, decode_envelope

_KEPT = 10_000
_MAX_NUMBER = 1 << 22
_ENTRY_BYTES = 64 << 10


class StringTable:
    """Holds eight bytes an entry, however many there are; the first 10,000 texts are kept as well."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._offsets = array("q")
        self._kept: dict[int, str] = {}
        self.count = 0

    def add(self, number: int, text: str, offset: int) -> None:
        """``offset`` is that of the header line. Raises ValueError if torch has no such number."""
        if not 0 <= number < _MAX_NUMBER:
            raise ValueError("number out of range")
        missing = number + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.frombytes(b"\xff" * (8 * missing))
        self.count += self._offsets[number] < 0
        self._offsets[number] = offset
        if len(self._kept) < _KEPT:
            self._kept[number] = text

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._offsets) and self._offsets[number] >= 0

    def get(self, number: int) -> str | None:
        if number not in self:
            return None
        text = self._kept.get(number)
        return text if text is not None else self._fetch(self._offsets[number])

    def _fetch(self, offset: int) -> str | None:
        line = self._source.pread(_ENTRY_BYTES, offset).partition(b"\n")[0]
        header = HEADER.search(line, 0, SEARCHED_BYTES)
        if header is None:
            return None
        try:
            entry: Any = decode_envelope(line[header.end() :])["str"][0]
        except (ValueError, RecursionError, TypeError, LookupError):
            return None
        return entry if isinstance(entry, str) else None
