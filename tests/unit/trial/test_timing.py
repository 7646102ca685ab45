"""Steps from notes, and what is steady about them."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.recording import open_recording
from compilescope.recording.writer import Writer
from compilescope.trial.timing import Steps, hull, interval, steady, steps_of

MS = 1_000_000
LENGTHS = st.lists(st.floats(1e-6, 100), min_size=5, max_size=300)


@given(LENGTHS)
def test_an_interval_holds_its_median(values):
    found = interval(values)
    assert found.low <= found.value <= found.high
    assert found.value == median(values)
    assert min(values) <= found.low
    assert found.high <= max(values)


@given(st.lists(LENGTHS, min_size=1, max_size=5))
def test_several_runs_are_as_wide_as_the_widest(runs):
    intervals = [interval(run) for run in runs]
    whole = hull(intervals)
    assert whole is not None
    assert all(whole.low <= one.low and one.high <= whole.high for one in intervals)


def test_the_interval_narrows_with_more_steps():
    few, many = interval([1.0, 2.0, 3.0, 4.0, 5.0]), interval([1.0, 2.0, 3.0, 4.0, 5.0] * 200)
    assert (few.low, few.high) == (1.0, 5.0)
    assert (many.low, many.high) == (3.0, 3.0)


def test_steps_before_the_last_compile_are_left_out():
    steps = Steps("x", 8, [i * MS for i in range(8)], [9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    found = steady(steps, 2 * MS)
    assert found is not None
    assert found.high == 1.0
    assert steady(steps, 4 * MS) is None
    assert steady(None, None) is None


@pytest.fixture
def recorded(tmp_path):
    def make(*notes):
        writer = Writer(tmp_path / "r.compilescope", {"pid": 1})
        for kind, fields in notes:
            writer.record(kind, {"m": fields})
        writer.close("test")
        return open_recording(tmp_path / "r.compilescope").processes

    return make


def test_named_steps_win_over_inferred_ones(recorded):
    calls = {"of": 0, "name": "Net", "n": 9, "start_ns": 0, "at_us": [i * 10 for i in range(9)]}
    told = {"n": 3, "count": 3, "sum_us": 60, "us": [10, 20, 30], "end_ns": 100_000}
    steps = steps_of(recorded(("calls", calls), ("step", told)))
    assert steps is not None
    assert (steps.basis, steps.count) == ("compilescope.step()", 3)
    assert steps.lengths_s == pytest.approx([1e-5, 2e-5, 3e-5])
    assert steps.starts_ns == [40_000, 50_000, 70_000]


def test_the_first_callable_that_is_called_often_is_the_step(recorded):
    def calls(of, name, n):
        return ("calls", {"of": of, "name": name, "n": n, "start_ns": 0, "at_us": [i * 10 for i in range(n)]})

    steps = steps_of(recorded(calls(0, "Warmup", 2), calls(1, "Net", 50), calls(2, "Block", 60)))
    assert steps is not None
    assert (steps.basis, steps.count) == ("calls of Net", 50)


def test_chunks_of_a_thousand_calls_are_one_series(recorded):
    chunks = [
        ("calls", {"of": 0, "name": "Net", "n": 1000 * (i + 1), "start_ns": 5, "at_us": [1] * 1000})
        for i in range(3)
    ]
    steps = steps_of(recorded(*chunks))
    assert steps is not None
    assert steps.count == 3000
    assert len(steps.lengths_s) == 2999


def test_malformed_notes_are_no_steps(recorded):
    assert steps_of(recorded(("step", {"us": "x"}), ("calls", {"of": None}), ("step", {"n": 1}))) is None
