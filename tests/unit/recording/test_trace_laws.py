"""Laws of the log reader: how a file is cut into reads does not matter, and damage stays where it is."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilescope.recording import trace_blocks
from compilescope.recording.format import Damage
from compilescope.recording.trace_blocks import BlockSplitter
from compilescope.recording.trace_log import TraceLog

_RECORD = re.compile(rb"(?m)^(?=V\d{4} )")
_shared = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


class Memory:
    name = "memory.log"

    def __init__(self, content: bytes) -> None:
        self._content = content

    def size(self) -> int:
        return len(self._content)

    def pread(self, count: int, offset: int) -> bytes:
        return self._content[offset : offset + count]


def read(content: bytes, cuts: list[int] | None = None) -> TraceLog:
    log = TraceLog(Memory(content), 2025)
    splitter = BlockSplitter(log)
    edges = [0, *sorted(set(cuts or [])), len(content)]
    for start, end in pairwise(edges):
        splitter.feed(content[start:end])
    splitter.finish()
    log.finish(len(content))
    return log


def facts(log: TraceLog) -> list[Any]:
    out: list[Any] = [(entry.kind, entry.where, entry.detail) for entry in log.damage.entries()]
    for process in log.processes:
        out += [(entry.kind, entry.where, entry.detail) for entry in process.damage]
        out += [(record.k, record.c, record.m, record.offset) for record in process.records()]
        out += [process.text(record.p) for record in process.records()]
    return out


@given(st.data())
@_shared
def test_the_size_of_reads_does_not_matter(small_log: Any, data: st.DataObject) -> None:
    content = small_log.content[: data.draw(st.integers(1, len(small_log.content)))]
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=40))
    assert facts(read(content, cuts)) == facts(read(content))


@given(st.data())
@_shared
def test_a_payload_too_large_to_hold_is_hashed_as_it_passes(log: Any, data: st.DataObject) -> None:
    lines = st.text(st.sampled_from("a\t\n\u2028é\r"), max_size=100).map(lambda text: text * 9)
    builder = type(log)()
    for number in range(3):
        builder.artifact("code", data.draw(lines), number)
    content = builder.content
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_blocks, "_HELD_BYTES", 256)
        streamed = read(content, cuts)
    whole = read(content)
    texts = [[p.text(r.p) for p in log.processes for r in p.records()] for log in (streamed, whole)]
    assert texts[0] == texts[1]
    kinds = {entry.kind for process in streamed.processes for entry in process.damage}
    assert not any(process.damage for process in whole.processes)
    assert kinds == set()


def mutations() -> st.SearchStrategy[Any]:
    return st.tuples(
        st.sampled_from(["drop", "repeat", "cut", "flip", "insert", "untab", "swap", "nul", "newline"]),
        st.integers(0, 10_000),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=8),
    )


def mutate(records: list[bytes], mutation: tuple[str, int, float, bytes]) -> int:
    """Changes one record in place; returns its index."""
    how, where, depth, noise = mutation
    index = where % len(records)
    record = records[index]
    at = int(depth * len(record))
    records[index] = {
        "drop": b"",
        "repeat": record * 2,
        "cut": record[:at] + b"\n",
        "flip": record[:at] + bytes([record[at] ^ 1]) + record[at + 1 :] if record else b"",
        "insert": record[:at] + noise + record[at:],
        "untab": record.replace(b"\n\t", b"\n", 2),
        "swap": record[at:] + record[:at],
        "nul": record[:at] + b"\0" * len(noise) + record[at:],
        "newline": record[:at] + b"\n" + record[at:],
    }[how]
    return index


@given(st.lists(mutations(), min_size=1, max_size=4))
@_shared
def test_mutated_real_logs_lose_only_what_was_touched(real_log_bytes: bytes, changes: Any) -> None:
    records = _RECORD.split(real_log_bytes)[1:120]
    untouched = dict.fromkeys(range(len(records)))
    for change in changes:
        index = mutate(records, change)
        # A record that is not closed off may take the next one with it.
        for near in (index - 1, index, index + 1):
            untouched.pop(near, None)
    offsets, position = [], 0
    for record in records:
        offsets.append(position)
        position += len(record)
    log = read(b"".join(records))
    found = {record.offset: record for process in log.processes for record in process.records()}
    for index in untouched:
        if b'"chromium_event"' not in records[index] and b'] {"str"' not in records[index]:
            assert offsets[index] in found
    for process in log.processes:
        for record in process.records():
            process.text(record.p)
    for entry in log.damage.entries():
        assert isinstance(entry, Damage)


@given(st.binary(max_size=2000))
@_shared
def test_any_bytes_at_all(content: bytes) -> None:
    facts(read(content))
