"""When steps ended, from the notes of ``compilescope.step()`` and from counts at compiles."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.trial.step_ends import by_calls, told_ends

from .conftest import CORPUS

US = 1000
LENGTHS = st.lists(st.integers(1, 10**6), min_size=1, max_size=40)


def note(number: int, lengths: list[int], end_us: int, *, kept: int | None = None) -> SimpleNamespace:
    shown = lengths if kept is None else lengths[:kept]
    fields = {"n": number, "count": len(lengths), "sum_us": sum(lengths), "us": shown, "end_ns": end_us * US}
    return SimpleNamespace(m=fields)


@given(st.lists(LENGTHS, max_size=5), st.integers(0, 10**9))
def test_every_call_of_step_is_the_end_of_one(chunks, first_us):
    notes, at, number, wanted = [note(0, [], first_us)], first_us, 0, [first_us * US]
    for lengths in chunks:
        for length in lengths:
            at += length
            wanted.append(at * US)
        number += len(lengths)
        notes.append(note(number, lengths, at))
    # A step that was not kept to the nanosecond ends within the microsecond it was kept to.
    assert told_ends(notes) == wanted == sorted(wanted)


def test_an_older_recording_has_no_note_of_the_first_call():
    assert told_ends([note(2, [5, 5], 20)]) == [10 * US, 15 * US, 20 * US]


def test_a_recording_that_began_later_has_no_first_call():
    assert told_ends([note(9, [5, 5], 20)]) == [15 * US, 20 * US]


def test_steps_without_lengths_end_with_their_chunk():
    assert told_ends([note(0, [], 0), note(3, [5, 5, 5], 15, kept=1)]) == [0, 5 * US, 15 * US, 15 * US]


def test_notes_that_are_no_notes_are_passed_over():
    bad = [SimpleNamespace(m=m) for m in ({}, {"us": 3}, {"us": [None]}, {"us": [], "n": "1", "count": 0})]
    assert told_ends([*bad, note(0, [], 7)]) == [7 * US]


def at_compile(**counts: object) -> SimpleNamespace:
    return SimpleNamespace(k="runs_at_compile", c=(0, 0, 0, 0), x=counts, m={})


def test_without_counts_at_compiles_no_step_is_made_up():
    run = load(open_recording(CORPUS / "08_step_counter_attr.zip"))
    (process,) = run.processes
    counted = by_calls(process, [at_compile(g=[], e=[])])
    assert counted is not None
    assert (counted.basis, counted.count) == ("calls of forward()", 12)
    assert by_calls(process, []) is None
    assert by_calls(process, [at_compile(g=[], e=[]), at_compile(capped=True)]) is None
