"""Laws of our own format: any value comes back, and any damage to the files loses only what it touched."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import edited, edits, recorded

from compilescope.errors import RecordingError
from compilescope.recording import Ref, open_recording
from compilescope.recording.process import ProcessRecording

_settings = settings(deadline=None, max_examples=60)
_long = st.builds(
    lambda text, n: text * n, st.text(min_size=1, max_size=20), st.sampled_from([1, 999, 1001, 5000])
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | _long
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=20,
)


def expected(value: Any) -> Any:
    """What the format promises to give back: JSON, without nulls in objects, and nothing that JSON lacks."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {expected(str(key)): expected(item) for key, item in value.items() if item is not None}
    return [expected(item) for item in value]


def read_back(process: ProcessRecording, value: Any) -> Any:
    if isinstance(value, Ref):
        return process.text(value)
    if isinstance(value, list):
        return [read_back(process, item) for item in value]
    if isinstance(value, dict):
        return {key: read_back(process, item) for key, item in value.items()}
    return value


@given(st.dictionaries(st.text(min_size=1), _values, max_size=5), st.text() | _long)
@_settings
def test_any_value_comes_back(m: dict[str, Any], payload: str) -> None:
    with recorded({"kind": "a", "fields": {"m": m, "other": m}, "payload": payload, "c": (1, None, 0)}) as (
        root,
        _,
    ):
        [process] = open_recording(root).processes
        [record] = process.records(("a",))
        assert read_back(process, record.m) == expected(m)
        assert read_back(process, record.x["other"]) == expected(m)
        assert process.text(record.p) == expected(payload)
        assert record.c == (1, None, 0)
        assert process.damage == []


@given(st.sampled_from(["events.jsonl", "payloads.pack"]), edits())
@_settings
def test_damage_loses_only_what_it_touches(name: str, changes: list[Any]) -> None:
    records = [
        {"kind": "a", "fields": {"m": {"i": i, "pad": "p" * 1000 * (i % 2)}}, "payload": f"{i} " * 500}
        for i in range(12)
    ]
    with recorded(*records) as (root, _):
        path = next(root.glob(f"*/{name}"))
        before = path.read_bytes()
        after = edited(bytearray(before), changes)
        path.write_bytes(after)
        try:
            [process] = open_recording(root).processes
        except RecordingError:
            return
        seen = {}
        for record in process.records(("a",)):
            text = process.text(record.p)
            if type(record.m.get("i")) is int:
                seen[record.m["i"]] = text
        if name == "payloads.pack":
            assert list(seen) == list(range(12))
            assert all(text in (None, f"{i} " * 500) for i, text in seen.items())
            assert process.damage or None not in seen.values()
        else:
            whole = set(after.split(b"\n")[:-1])
            kept = [line for line in before.split(b"\n") if line.startswith(b'{"k":"a"') and line in whole]
            assert len(seen) >= len(kept)


@given(st.lists(st.sampled_from(["same", "other", "long " * 300]) | st.text(max_size=3), max_size=20))
@_settings
def test_payloads_are_told_apart(payloads: list[str]) -> None:
    with recorded(*({"kind": "a", "payload": text} for text in payloads)) as (root, _):
        if payloads:
            [process] = open_recording(root).processes
            texts = [process.text(record.p) for record in process.records(("a",))]
            assert texts == [expected(text) for text in payloads]
