"""Decodes the payload of a chromium event, without the cache-key texts that make up most of it."""

from __future__ import annotations

from typing import Any

import msgspec

_SMALL_BYTES = 2000
_DROPPED = ("components", "debug_lines")


class _Event(msgspec.Struct, gc=False):
    name: str
    ph: str
    ts: float
    tid: int = 0
    args: msgspec.Raw = msgspec.Raw(b"{}")


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_any = msgspec.json.Decoder().decode
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode_chromium(payload: bytes) -> tuple[dict[str, Any], int]:
    """The event and its thread. Raises ValueError (msgspec's errors are)."""
    event = _decode_event(payload)
    return {"name": event.name, "ph": event.ph, "ts": event.ts, "args": _args(event.args)}, event.tid


def _args(raw: msgspec.Raw) -> Any:
    if len(memoryview(raw)) <= _SMALL_BYTES:
        return _decode_any(raw)
    return {key: _decode_any(part) for key, part in _decode_parts(raw).items() if key not in _DROPPED}
