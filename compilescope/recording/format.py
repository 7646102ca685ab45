"""Format version 1: the names, limits and values that writer and reader share.

Version history: 1 = the first. ``VERSION`` changes only when an older reader would misread a file;
new record kinds and new fields are free.
"""

from __future__ import annotations

from typing import Any

import msgspec

VERSION = 1
MIN_READER = 1

EVENTS = "events.jsonl"
EVENTS_PACKED = "events.jsonl.zst"
PAYLOADS = "payloads.pack"
RUN = "run.json"

SPILL_CHARS = 1000
"""A string value at least this long goes to the pack: short lines are rarely torn by a kill."""
LINE_SOFT_CAP_BYTES = 64 << 10
DICTIONARY_CAP_BYTES = 128 << 10
"""Only this much of a kind's first payload is its dictionary: more was measured to gain nothing."""
PAYLOAD_CAP_BYTES = 512 << 20

REF_KEY = "$"
"""``{"$": [...]}`` stands for a string that lies in the pack."""
JSON_REF_KEY = "$j"
"""``{"$j": [...]}`` stands for a JSON value that lies in the pack: it would have made the line too long."""
ESCAPE = "$"
"""A key of the user that starts with "$" is written with one more, so that it is never taken for a ref."""

RESERVED = frozenset(("k", "c", "ca", "t", "th", "m", "p", "stack"))


class Ref(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a payload lies: extents in bytes, ``md5`` of the uncompressed bytes as 32 hex digits."""

    offset: int
    zlen: int
    len: int
    md5: str
    dict_offset: int | None = None
    dict_zlen: int | None = None
    dict_len: int | None = None


class Damage(msgspec.Struct, frozen=True, gc=False):
    """Something that could not be read: a slug, ``file:byte offset``, and what was lost, for a person."""

    kind: str
    where: str
    detail: str


class Record(msgspec.Struct, gc=False):
    """One line of ``events.jsonl``. ``x`` holds every field that has no attribute of its own.

    ``c`` is ``(frame_id, frame_compile_id, attempt, epoch)``, ``t`` unix time in ns, ``th`` the thread's
    ident, ``offset`` the byte offset of the line in its (uncompressed) file. Long strings in ``m``, ``stack``
    and ``x`` are ``Ref``.
    """

    k: str
    c: tuple[int | None, ...] | None
    ca: int | None
    t: int | None
    th: int | None
    m: dict[str, Any]
    p: Ref | None
    stack: list[Any] | None
    x: dict[str, Any]
    offset: int
