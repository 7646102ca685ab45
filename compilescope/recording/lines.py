"""From bytes to ``Record``: lines of ``events.jsonl``, whatever has happened to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from compilescope.recording.damage import DamageLog
from compilescope.recording.format import ESCAPE, JSON_REF_KEY, REF_KEY, Record, Ref

Resolve = Callable[[Ref], Any]
"""Gives the JSON value that lies at a ref, or None."""

_decode = msgspec.json.Decoder().decode
_LINE_CAP_BYTES = 64 << 20
_PREFIX = b'{"k":"'
_NESTED = (dict, list)


class LineSplitter:
    """Splits chunks into complete lines; remembers where the last one ended.

    ``read_to`` is the offset after the last complete line, ``tail`` what follows it (at most 64 MiB).
    """

    def __init__(self, source_name: str, damage: DamageLog, start: int = 0) -> None:
        self.read_to = start
        self.tail = b""
        self._source_name = source_name
        self._damage = damage
        self._skipped = 0

    @property
    def tail_bytes(self) -> int:
        return len(self.tail) + self._skipped

    def feed(self, chunk: bytes) -> list[tuple[int, bytes]]:
        """``(offset, line)`` of every line that is complete now, without its newline."""
        if b"\n" not in chunk:
            self._hold(chunk)
            return []
        *complete, rest = (self.tail + chunk).split(b"\n")
        self.tail = rest
        if self._skipped:
            self._report_skipped(len(complete[0]))
            del complete[0]
        out = []
        offset = self.read_to
        for line in complete:
            if line:
                out.append((offset, line))
            offset += len(line) + 1
        self.read_to = offset
        return out

    def _hold(self, chunk: bytes) -> None:
        if self._skipped or len(self.tail) + len(chunk) > _LINE_CAP_BYTES:
            self._skipped += len(self.tail) + len(chunk)
            self.tail = b""
        else:
            self.tail += chunk

    def _report_skipped(self, last: int) -> None:
        size_bytes = self._skipped + last
        self._damage.add("line-too-long", self._source_name, self.read_to, f"a line of {size_bytes} bytes")
        self.read_to += size_bytes + 1
        self._skipped = 0


def is_of_kind(line: bytes, kinds: frozenset[bytes]) -> bool:
    """Looks at the prefix only; a line of another shape is let through, to be decoded."""
    if not line.startswith(_PREFIX):
        return True
    return line[len(_PREFIX) : line.find(b'"', len(_PREFIX))] in kinds


def decode_line(
    line: bytes, offset: int, source_name: str, damage: DamageLog, resolve: Resolve
) -> Record | None:
    """None, and a damage entry, if the line is not a record."""
    if line[0] == 0:
        # A network disk shows a hole where another host's bytes have not arrived.
        damage.add("hole", source_name, offset, "zero bytes where a record should be")
        line = line.lstrip(b"\0")
        if not line:
            return None
    try:
        fields = _decode_any(line)
    except (ValueError, RecursionError):
        damage.add("bad-line", source_name, offset, f"a record of {len(line)} bytes is not valid JSON")
        return None
    if type(fields) is not dict or type(fields.get("k")) is not str:
        damage.add("bad-line", source_name, offset, "a line that is not a record")
        return None
    marks = line.count(b'"$')
    if marks:
        try:
            _revive_fields(fields, marks, resolve)
        except (ValueError, TypeError, RecursionError):
            damage.add("bad-ref", source_name, offset, f"a malformed payload reference in {fields['k']!r}")
            fields = {"k": fields["k"], "c": fields.get("c"), "t": fields.get("t")}
    return _record(fields, offset, source_name, damage)


def _revive_fields(fields: dict[str, Any], marks: int, resolve: Resolve) -> None:
    payload = fields.get("p")
    if type(payload) is dict and REF_KEY in payload:
        fields["p"] = _ref(payload[REF_KEY])
        if marks == 1:
            # Most refs are a record's payload: nothing else need be walked through.
            return
    left = _Marks(marks - (type(fields.get("p")) is Ref))
    for key, value in fields.items():
        if type(value) is dict or type(value) is list:
            fields[key] = revive(value, resolve, left)


class _Marks:
    """How many marks of refs a line has that were not met yet: none left, and nothing need be walked."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def _decode_any(line: bytes) -> Any:
    try:
        return _decode(line)
    except (msgspec.DecodeError, RecursionError):
        # NaN and 1e999 are not JSON, yet Python writes and reads them.
        return json.loads(line.decode("utf-8", "backslashreplace"))


def _record(fields: dict[str, Any], offset: int, source_name: str, damage: DamageLog) -> Record:
    pop = fields.pop
    kind = pop("k")
    c, ca, t, th = pop("c", None), pop("ca", None), pop("t", None), pop("th", None)
    m, p, stack = pop("m", None), pop("p", None), pop("stack", None)
    bad = {}
    if c is not None and not is_compile_id(c):
        bad["c"], c = c, None
    if ca is not None and type(ca) is not int:
        bad["ca"], ca = ca, None
    if t is not None and type(t) is not int:
        bad["t"], t = t, None
    if th is not None and type(th) is not int:
        bad["th"], th = th, None
    if m is not None and type(m) is not dict:
        bad["m"], m = m, None
    if p is not None and type(p) is not Ref:
        bad["p"], p = p, None
    if stack is not None and type(stack) is not list:
        bad["stack"], stack = stack, None
    if bad:
        names = ", ".join(bad)
        damage.add("bad-field", source_name, offset, f"{names} of {kind!r} has an unexpected type")
        fields |= bad
    return Record(kind, tuple(c) if c is not None else None, ca, t, th, m or {}, p, stack, fields, offset)


def is_compile_id(c: object) -> bool:
    if type(c) is not list or len(c) > 8:
        return False
    return all(part is None or type(part) is int for part in c)


def revive(value: Any, resolve: Resolve, marks: _Marks) -> Any:
    """In place: refs become ``Ref``, moved values come back, escaped keys lose one. Raises ValueError."""
    if not marks.left:
        return value
    if type(value) is list:
        # From the end: torch's long rows stand there.
        for index in range(len(value) - 1, -1, -1):
            if type(value[index]) in _NESTED:
                value[index] = revive(value[index], resolve, marks)
                if not marks.left:
                    break
        return value
    if type(value) is not dict:
        return value
    if len(value) == 1:
        if REF_KEY in value:
            marks.left -= 1
            return _ref(value[REF_KEY])
        if JSON_REF_KEY in value:
            marks.left -= 1
            moved = resolve(_ref(value[JSON_REF_KEY]))
            return revive(moved, resolve, _Marks(-1))  # marks of its own, which nobody counted
    escaped = False
    for key, item in value.items():
        escaped = escaped or key[:1] == ESCAPE
        if type(item) in _NESTED:
            value[key] = revive(item, resolve, marks)
    return {key.removeprefix(ESCAPE): item for key, item in value.items()} if escaped else value


def _ref(extent: object) -> Ref:
    ref = msgspec.convert(extent, Ref)
    numbers = (ref.offset, ref.zlen, ref.len, ref.dict_offset or 0, ref.dict_zlen or 0, ref.dict_len or 0)
    if min(numbers) < 0 or max(numbers) >= 1 << 62:
        raise ValueError("an extent that no file has")
    return ref
