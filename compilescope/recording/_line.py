"""One record as one line of JSON: kind and compile id first, so a reader can pass by without decoding."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from compilescope.recording.encode import plain, scrub, utf8
from compilescope.recording.format import JSON_REF_KEY, LINE_SOFT_CAP_BYTES, REF_KEY
from compilescope.recording.payloads import PayloadPack

_encode = msgspec.json.Encoder().encode
_NEVER_MOVED = frozenset(("k", "c", "ca", "t", "th", "p", "v", "min_reader"))


class LineEncoder:
    """Encodes lines for one pack; long strings go there first. Methods raise OSError."""

    __slots__ = ("_pack",)

    def __init__(self, pack: PayloadPack) -> None:
        self._pack = pack

    def encode(
        self,
        kind: str,
        fields: Mapping[str, object] | None,
        c: tuple[int | None, ...] | None,
        ca: int | None,
        payload: str | bytes | None,
        payload_kind: str | None,
        md5: str | None,
    ) -> bytes:
        line: dict[str, Any] = {"k": str(kind)}
        if c is not None:
            line["c"] = [None if part is None else int(part) for part in c]
        if ca is not None:
            line["ca"] = int(ca)
        line["t"] = time.time_ns()
        line["th"] = threading.get_ident()
        if fields:
            line.update(plain(dict(fields), kind, kind, self._spill))
        if payload is not None:
            line["p"] = self._payload(payload, payload_kind or kind, md5)
        return self._bytes(kind, line)

    def _bytes(self, kind: str, line: dict[str, Any]) -> bytes:
        encoded = _encode_any(line)
        while len(encoded) > LINE_SOFT_CAP_BYTES:
            moved = self._move_largest(kind, line)
            if not moved:
                break
            encoded = _encode_any(line)
        return encoded + b"\n"

    def _move_largest(self, kind: str, line: dict[str, Any]) -> bool:
        sizes = {
            key: len(_encode_any(value))
            for key, value in line.items()
            if key not in _NEVER_MOVED and not (type(value) is dict and JSON_REF_KEY in value)
        }
        largest = max(sizes, key=sizes.__getitem__, default=None)
        if largest is None or sizes[largest] < 1000:
            return False
        extent = self._pack.add(_encode_any(line[largest]), f"{kind}.{largest}")
        line[largest] = {JSON_REF_KEY: extent}
        return True

    def _payload(self, payload: str | bytes, kind: str, md5: str | None) -> dict[str, Any]:
        if isinstance(payload, bytes):
            content = payload
        else:
            content, exact = utf8(payload)
            # With lone surrogates written out, the digest given is of other bytes.
            md5 = md5 if exact else None
        return {REF_KEY: self._pack.add(content, kind, md5)}

    def _spill(self, text: str, kind: str) -> dict[str, Any]:
        return {REF_KEY: self._pack.add(utf8(text)[0], kind)}


def _encode_any(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(scrub(value))
