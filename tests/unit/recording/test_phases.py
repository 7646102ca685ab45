from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.recording.phases import PhaseFold


def event(ph: str, name: str, ts: float, **args: Any) -> dict[str, Any]:
    return {"name": name, "ph": ph, "ts": ts, "args": args}


def test_nested_phases_become_closed_intervals() -> None:
    fold = PhaseFold()
    assert fold.feed(event("B", "dynamo", 1000.0, compile_id="0/0"), 1) is None
    assert fold.feed(event("B", "inductor", 1010.4), 1) is None
    assert fold.feed(event("i", "hit", 1011.0, key="k", components="c" * 9), 1) is None
    assert fold.open() == {1: [["dynamo", 1000], ["inductor", 1010]]}
    assert fold.feed(event("E", "inductor", 1050.4), 1) is None
    assert fold.feed(event("E", "dynamo", 1100.0, wall=1), 1) == {
        "th": 1,
        "t0": 1011,
        "rows": [
            ["hit", 0, -1, 2, {"key": "k"}],
            ["inductor", -1, 40, 1],
            ["dynamo", -11, 100, 0, {"compile_id": "0/0", "wall": 1}],
        ],
    }
    assert fold.open() == {}
    assert (fold.unmatched, fold.unclosed) == (0, 0)


def test_threads_do_not_disturb_each_other() -> None:
    fold = PhaseFold()
    fold.feed(event("B", "a", 0), 1)
    fold.feed(event("B", "a", 5), 2)
    first = fold.feed(event("E", "a", 10), 1)
    second = fold.feed(event("E", "a", 20), 2)
    assert first is not None
    assert second is not None
    assert first["rows"] == [["a", 0, 10, 0]]
    assert second["rows"] == [["a", 0, 15, 0]]


def test_an_end_without_a_begin_is_counted() -> None:
    fold = PhaseFold()
    assert fold.feed(event("E", "x", 1), 1) is None
    assert fold.unmatched == 1


def test_phases_of_pool_threads_in_one_stream_are_paired_by_name() -> None:
    fold = PhaseFold()
    for ph, name, ts in [
        ("B", "wait", 0),
        ("B", "cpp", 1),
        ("B", "link", 2),
        ("E", "cpp", 5),
        ("E", "link", 7),
    ]:
        fold.feed(event(ph, name, ts), 0)
    batch = fold.feed(event("E", "wait", 9), 0)
    assert batch is not None
    assert [row[:3] for row in batch["rows"]] == [["cpp", 0, 4], ["link", 1, 5], ["wait", -1, 9]]
    assert fold.unmatched == 0


def test_at_most_64_rows_a_record() -> None:
    fold = PhaseFold()
    fold.feed(event("B", "outer", 0), 1)
    batches = [fold.feed(event("i", "tick", i), 1) for i in range(130)]
    assert [len(batch["rows"]) for batch in batches if batch] == [64, 64]
    rest = fold.flush(1)
    assert rest is not None
    assert len(rest["rows"]) == 2
    assert fold.flush(1) is None


@pytest.mark.parametrize(
    "bad", [{}, event("Q", "x", 1), event("B", "x", float("nan")), {"name": "x", "ph": "B", "ts": "soon"}]
)
def test_an_event_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        PhaseFold().feed(bad, 1)


@given(st.lists(st.tuples(st.sampled_from("BEi"), st.sampled_from("abc"), st.integers(0, 3)), max_size=300))
def test_no_event_is_lost_whatever_the_order(events: list[tuple[str, str, int]]) -> None:
    fold = PhaseFold()
    rows: list[list[Any]] = []
    for ts, (ph, name, thread) in enumerate(events):
        batch = fold.feed(event(ph, name, ts), thread)
        rows += batch["rows"] if batch else []
    for thread in fold.threads():
        batch = fold.flush(thread)
        rows += batch["rows"] if batch else []
    count = {ph: sum(e[0] == ph for e in events) for ph in "BEi"}
    closed = sum(row[2] >= 0 for row in rows)
    assert len(rows) - closed == count["i"]
    assert closed + fold.unmatched == count["E"]
    assert closed + fold.unclosed + sum(map(len, fold.open().values())) == count["B"]
