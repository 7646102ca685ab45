"""Makes a recording of many compile ids by repeating real ones. Deterministic, but for the ids of processes.

    python tests/benchmarks/html/big_recording.py OUT.compilescope [--compiles 1000]

One process per source. Each copy is a program of its own in it: other frames, other times, other code in
every payload, so that nothing is shared that a long job would not share.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from compilescope.recording import ProcessRecording, Record, Ref, Writer, open_recording

_CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus"
SOURCES = (_CORPUS / "compiled" / "train_dynamic.zip", _CORPUS / "recordings" / "24_history_grows.zip")
_ID = re.compile(r"^(\d+)/(\d+)\b")
_ID_KEYS = frozenset({"compile_id", "entry", "first", "compile"})
_SERIAL_KEYS = ("g", "i")  # of a graph handed to a backend, of one that Inductor compiled
_ONCE = frozenset({"head", "name", "process", "thread", "source", "end", "lost"})
_CODE = re.compile(r"\b(buf|primals_|arg|add|mul|view|l_self_|relu|tmp)(\d*)")


class _Copy:
    """The records of one program with frames, graph serials and times moved."""

    def __init__(self, owner: ProcessRecording, records: list[Record], number: int) -> None:
        self._text, self._records, self._number = owner.text, records, number
        self._frames = 1 + max((r.c[0] or 0 for r in records if r.c and r.c[0] is not None), default=0)
        serials = [r.m[key] for r in records for key in _SERIAL_KEYS if isinstance(r.m.get(key), int)]
        self._serials = 1 + max(serials, default=0)
        times = [r.t for r in records if r.t is not None]
        self._span_ns = max(times) - min(times) + 1_000_000

    def write(self, writer: Writer) -> None:
        for record in self._records:
            if record.k in _ONCE and self._number:
                continue
            if record.k not in ("head", "name", "end"):
                self._one(writer, record)

    def _one(self, writer: Writer, record: Record) -> None:
        fields: dict[str, Any] = dict(record.x)
        fields |= {"m": record.m} if record.m else {}
        fields |= {"stack": record.stack} if record.stack is not None else {}
        moved = self._moved(fields)
        moved |= {"t": (record.t or 0) + self._number * self._span_ns, "th": record.th}
        if record.k == "runs":
            for key in _SERIAL_KEYS:
                moved[key] = [[self._serial(row[0]), *row[1:]] for row in fields.get(key, ())]
        c = record.c
        if c and c[0] is not None:
            c = (c[0] + self._number * self._frames, *c[1:])
        payload = self._payload(record) if record.p is not None else None
        writer.record(record.k, moved, c=c, ca=record.ca, payload=payload, payload_kind=record.k)

    def _payload(self, record: Record) -> str | None:
        text = self._text(record.p)
        if text is None or not self._number or record.m.get("encoding") == "json":
            return text
        return _CODE.sub(lambda found: f"{found[1]}{self._number}_{found[2]}", text)

    def _moved(self, value: Any, key: str = "") -> Any:
        if isinstance(value, Ref):
            return self._text(value)
        if isinstance(value, dict):
            return {name: self._moved(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._moved(item) for item in value]
        if key in _ID_KEYS and isinstance(value, str):
            return _ID.sub(lambda id_: f"{int(id_[1]) + self._number * self._frames}/{id_[2]}", value)
        return self._serial(value) if key in _SERIAL_KEYS and isinstance(value, int) else value

    def _serial(self, serial: int) -> int:
        return serial + self._number * self._serials


def write_big_recording(root: Path, compiles: int) -> int:
    """Returns how many compile ids it has: at least ``compiles``."""
    return sum(_repeat(root, source, compiles // len(SOURCES)) for source in SOURCES)


def _repeat(root: Path, source: Path, compiles: int) -> int:
    owner = open_recording(source).processes[0]
    records = list(owner.records())
    writer = Writer(root, {k: v for k, v in owner.head.items() if k not in ("pid", "uuid", "t", "th")})
    for number in _file_numbers(owner):
        writer.file_id(owner.file(number) or "")
    ids = len({r.c[:2] for r in records if r.k == "dynamo_start" and r.c})
    made = 0
    for number in count():
        if made >= compiles:
            break
        _Copy(owner, records, number).write(writer)
        made += ids
    writer.close()
    return made


def _file_numbers(owner: ProcessRecording) -> Iterator[int]:
    for number in count():
        if owner.file(number) is None:
            return
        yield number


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--compiles", type=int, default=1000)
    arguments = parser.parse_args()
    print(f"{arguments.out}: {write_big_recording(arguments.out, arguments.compiles)} compile ids")


if __name__ == "__main__":
    main()
