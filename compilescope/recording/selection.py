"""Which records a reader wants, and what of the others is still told: how many, how late, what is damaged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec

from compilescope.recording.format import JSON_REF_KEY, Record

_PREFIX = b'{"k":"'
_MOVED = f'"{JSON_REF_KEY}"'.encode()
_SOUND_REF = re.compile(rb'"\$j?":\[\d{1,18},\d{1,18},\d{1,18},"[0-9a-f]*"(?:,\d{1,18},\d{1,18},\d{1,18})?\]')
_Extent = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class Selection:
    """Records of ``kinds``; of a kind in ``names`` only those whose ``m["name"]`` is one of its names.

    Records passed over are looked at without being decoded in full: ``passed`` counts them by kind,
    ``last_ns`` is the latest time in one of them, in ns of unix time, and their damage is noted.
    """

    def __init__(self, kinds: Collection[str], names: Mapping[str, Collection[str]] | None = None) -> None:
        self.kinds = frozenset(kinds)
        self.names = {kind: frozenset(found) for kind, found in (names or {}).items()}
        self.passed: Counter[str] = Counter()
        self.last_ns: int | None = None
        self._whole = frozenset(kind.encode() for kind in self.kinds - self.names.keys())

    def restart(self) -> None:
        """Forgets what was passed over: the file is about to be read again."""
        self.passed.clear()
        self.last_ns = None

    def takes(self, record: Record) -> bool:
        """Whether a decoded record is wanted; takes note of it if not."""
        names = self.names.get(record.k)
        if record.k in self.kinds and (names is None or _is_in(record.m.get("name"), names)):
            return True
        self._pass(record.k, record.t)
        return False

    def passes(self, line: bytes) -> bool:
        """Whether the line is certainly a sound record that is not wanted; if not, it has to be decoded."""
        if line.startswith(_PREFIX) and line[len(_PREFIX) : line.find(b'"', len(_PREFIX))] in self._whole:
            return False
        try:
            seen = _glance(line)
            if not line.isascii():
                line.decode()  # texts that are passed over are not looked into otherwise
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        kind, t = seen.k, seen.t
        if kind in self.kinds:
            names = self.names.get(kind)
            name = None if seen.m is None else seen.m.name
            if names is None or _MOVED in line or (type(name) is str and name in names):
                return False
        if line.count(b"$") != (seen.p is not None) and line.count(b'"$') != len(_SOUND_REF.findall(line)):
            return False
        self.passed[kind] += 1  # as in _pass: this is asked of hundreds of thousands of lines
        if t is not None and (self.last_ns is None or t > self.last_ns):
            self.last_ns = t
        return True

    def _pass(self, kind: str, t: int | None) -> None:
        self.passed[kind] += 1
        if t is not None and (self.last_ns is None or t > self.last_ns):
            self.last_ns = t


class _Named(msgspec.Struct, gc=False):
    name: Any = None


class _Ref(msgspec.Struct, array_like=True, gc=False):
    offset: _Extent
    zlen: _Extent
    len: _Extent
    md5: str
    dict_offset: _Extent | None = None
    dict_zlen: _Extent | None = None
    dict_len: _Extent | None = None


class _Payload(msgspec.Struct, gc=False):
    ref: _Ref = msgspec.field(name="$")


class _Glance(msgspec.Struct, gc=False):
    """The types a sound record has; whatever is not listed is only checked for its syntax."""

    k: str
    c: Annotated[list[int | None], msgspec.Meta(max_length=8)] | None = None
    ca: int | None = None
    t: int | None = None
    th: int | None = None
    m: _Named | None = None
    p: _Payload | None = None
    stack: list[msgspec.Raw] | None = None


_glance = msgspec.json.Decoder(_Glance).decode


def _is_in(name: object, names: frozenset[str]) -> bool:
    return isinstance(name, str) and name in names
