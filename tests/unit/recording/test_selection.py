"""Reading a selection shows what reading everything shows, and passes over nothing in silence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import edited, edits, recorded

from compilescope.errors import RecordingError
from compilescope.recording import ProcessRecording, Record, Selection, open_recording

RECORDINGS = sorted((Path(__file__).parents[3] / "fixtures/corpus/recordings").glob("*.zip"))
_settings = settings(deadline=None, max_examples=80)
_names = st.sampled_from(["wanted", "other", 'wa"nted', "wänted", "$wanted", "wanted " * 300, 7, None])
_m = st.fixed_dictionaries(
    {"name": _names}, optional={"$": st.just([1]), "text": st.text(), "big": st.just("x" * 1500)}
)
_records = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["a", "b", "c", "a\\b"]), "fields": st.fixed_dictionaries({"m": _m})},
        optional={"payload": st.text(), "c": st.just((1, None, 0))},
    ),
    min_size=1,
    max_size=12,
)


def selection() -> Selection:
    return Selection({"a", "b"}, {"a": ["wanted", 'wa"nted', "wänted", "$wanted"]})


def is_wanted(record: Record) -> bool:
    if record.k == "a":
        return record.m.get("name") in ("wanted", 'wa"nted', "wänted", "$wanted")
    return record.k == "b"


def assert_same(process: ProcessRecording, other: ProcessRecording, chosen: Selection) -> None:
    everything = list(process.records())
    assert list(other.records(chosen)) == [record for record in everything if is_wanted(record)]
    assert set(other.damage) == set(process.damage)
    unwanted = [record for record in everything if not is_wanted(record)]
    assert chosen.passed == Counter(record.k for record in unwanted)
    assert chosen.last_ns == max((r.t for r in unwanted if r.t is not None), default=None)


@given(_records)
@_settings
def test_a_selection_shows_the_wanted_records_of_whole_files(records: list[dict[str, Any]]) -> None:
    with recorded(*records) as (root, _):
        [process], [other] = open_recording(root).processes, open_recording(root).processes
        assert_same(process, other, selection())


@given(_records, edits())
@_settings
def test_a_selection_notes_the_damage_of_what_it_passes_over(
    records: list[dict[str, Any]], changes: list[Any]
) -> None:
    with recorded(*records) as (root, _):
        path = next(root.glob("*/events.jsonl"))
        path.write_bytes(edited(bytearray(path.read_bytes()), changes))
        try:
            [process], [other] = open_recording(root).processes, open_recording(root).processes
        except RecordingError:
            return
        assert_same(process, other, selection())


def test_fields_of_a_wrong_type_are_damage_though_nobody_wants_the_record() -> None:
    lines = (
        b'{"k":"z","c":"no"}',
        b'{"k":"z","c":[1,true]}',
        b'{"k":"z","t":1.5}',
        b'{"k":"z","m":[]}',
        b'{"k":"z","p":{"$":[1,2]}}',
        b'{"k":"z","p":{"$":[-1,2,3,"ab"]}}',
        b'{"k":"z","m":{"deep":[{"$":[1,2]}]}}',
        b'{"k":"z","stack":{}}',
        b'{"k":5}',
        b'{"k":"z"',
    )
    with recorded({"kind": "a"}) as (root, _):
        path = next(root.glob("*/events.jsonl"))
        path.write_bytes(path.read_bytes() + b"\n".join(lines) + b"\n")
        [process] = open_recording(root).processes
        chosen = selection()
        assert [record.k for record in process.records(chosen)] == []
        assert Counter(damage.kind for damage in process.damage) == {
            "bad-field": 5, "bad-ref": 3, "bad-line": 2
        }  # fmt: skip


def test_an_escaped_name_or_kind_is_found() -> None:
    with recorded({"kind": "z"}) as (root, _):
        path = next(root.glob("*/events.jsonl"))
        path.write_bytes(
            path.read_bytes() + b'{"k":"\\u0061","m":{"name":"w\\u0061nted"}}\n{"m":{},"k":"b"}\n'
        )
        [process] = open_recording(root).processes
        assert [record.k for record in process.records(selection())] == ["a", "b"]


def test_reading_a_selection_again_starts_its_counts_again() -> None:
    with recorded({"kind": "z"}, {"kind": "z"}) as (root, _):
        [process] = open_recording(root).processes
        chosen = selection()
        for _ in range(2):
            list(process.records(chosen))
            assert chosen.passed["z"] == 2


@pytest.mark.parametrize("path", RECORDINGS[::12], ids=lambda path: path.stem)
def test_real_recordings(path: Path) -> None:
    kinds, names = {"artifact", "graph"}, ["recompile_reasons"]
    for process, other in zip(open_recording(path).processes, open_recording(path).processes, strict=True):
        everything = list(process.records())
        chosen = Selection(kinds, {"artifact": names})
        found = list(other.records(chosen))
        assert found == [
            r for r in everything if r.k == "graph" or (r.k == "artifact" and r.m["name"] in names)
        ]
        assert sum(chosen.passed.values()) + len(found) == len(everything)
        assert other.damage == process.damage
