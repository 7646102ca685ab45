"""``compilescope.step`` and ``compilescope.check``."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from compilescope import steps


@pytest.fixture
def notes(monkeypatch):
    written = []
    capture = ModuleType("compilescope.capture")
    capture.note = lambda kind, fields: written.append((kind, fields))
    capture.is_attached = lambda: True
    monkeypatch.setitem(sys.modules, "compilescope.capture", capture)
    monkeypatch.setattr(steps, "_steps", steps._Steps())
    monkeypatch.setattr(steps, "_checked", {})
    monkeypatch.setattr(steps.atexit, "register", lambda _: None)
    return written


def test_nothing_happens_where_nothing_records(monkeypatch):
    monkeypatch.delitem(sys.modules, "compilescope.capture", raising=False)
    before = steps._steps.count
    steps.step()
    steps.check("loss", 1.0)
    steps.flush()
    assert steps._steps.count == before
    assert "compilescope.capture" not in sys.modules


def test_a_thousand_steps_are_one_record(notes):
    for _ in range(2502):
        steps.step()
    steps.flush()
    steps.flush()
    told = [note for _, note in notes]
    assert sum(note["count"] for note in told) == told[-1]["n"] == 2501
    assert len(told) <= 5
    assert all(len(note["us"]) == note["count"] for note in told)
    assert all(note["sum_us"] >= sum(note["us"]) for note in told)


def test_a_long_run_keeps_only_sums(notes, monkeypatch):
    monkeypatch.setattr(steps, "_DETAILED_STEPS", 10)
    for _ in range(2001):
        steps.step()
    steps.flush()
    assert sum(len(note["us"]) for _, note in notes) == 10
    assert sum(note["count"] for _, note in notes) == 2000


class Hostile:
    def item(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1.5, 1.5),
        (True, True),
        (None, None),
        ("a", "a"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (Hostile(), "<Hostile>"),
        (object(), "<object>"),
    ],
)
def test_values_that_json_can_hold(notes, value, kept):
    steps.check("x", value)
    assert notes == [("check", {"name": "x", "n": 1, "value": kept})]


def test_not_more_than_the_cap(notes, monkeypatch):
    monkeypatch.setattr(steps, "_MOST_CHECKS", 3)
    for number in range(5):
        steps.check("x", number)
        steps.check("y", number)
    assert len(notes) == 6
