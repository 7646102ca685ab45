from __future__ import annotations

import json
from fractions import Fraction

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_timeline import RECORDINGS, timelines

from compilescope.analysis.timeline import Moment, ProcessTimeline, Slice
from compilescope.model.timeline import Count
from compilescope.views.perfetto import merged, render

UNIX_US = 1_795_994_393_881_347
BASE_NS = 1_790_857_026_000_000_000


def process(text: str = "dynamo", start_us: int = UNIX_US, args=None) -> ProcessTimeline:
    return ProcessTimeline(
        "p",
        4242,
        text,
        {7: text},
        [Slice(7, text, text, start_us, 50, args or {}), Slice(7, text, text, start_us + 1, None, {})],
        [Moment(None, "graph break", text, start_us + 2, {"compile_id": text})],
        [Count(start_us + 3, text, 5)],
    )


def events(text: str):
    return json.loads(text)["traceEvents"]


def test_the_parts_of_a_trace():
    found = {event["ph"]: event for event in events(render([process()]))}
    assert set(found) == {"M", "X", "i", "C"}
    assert (found["X"]["ts"], found["X"]["dur"], found["X"]["pid"]) == (UNIX_US, 50, 4242)
    assert found["C"]["args"] == {"calls": 5}
    names = [e["args"]["name"] for e in events(render([process("main")])) if e["ph"] == "M"]
    assert names == ["main", "torch.compile, main"]


def test_a_track_of_ours_is_no_thread_of_the_system():
    assert {e["tid"] for e in events(render([process()])) if e["ph"] == "X"} == {1 << 22}


def test_inside_of_a_profilers_trace_the_clock_is_the_profilers():
    theirs = {"ph": "X", "name": "op", "pid": 4242, "tid": 4242, "ts": 5137367881347.25, "dur": 1}
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": [theirs]}
    text = merged([process()], trace)
    assert json.loads(text)["schemaVersion"] == 1
    assert events(text)[0] == theirs
    (ours,) = [e for e in events(text) if e["ph"] == "X" and e["name"] == "dynamo"]
    assert ours["ts"] == 5137367881347


@given(st.integers(0, 2**51), st.integers(0, 2**61))
def test_times_are_as_exact_as_a_float_can_be(start_us, base_ns):
    trace = {"baseTimeNanoseconds": base_ns, "traceEvents": []}
    (ours,) = [e for e in events(merged([process(start_us=start_us)], trace)) if e["ph"] == "X"]
    exact_ns = start_us * 1000 - base_ns
    assert abs(Fraction(ours["ts"]) * 1000 - exact_ns) <= abs(exact_ns) * Fraction(2) ** -52


@pytest.mark.parametrize("trace", [{}, {"traceEvents": 3}, {"traceEvents": [], "baseTimeNanoseconds": "x"}])
def test_what_is_not_a_trace_is_refused(trace):
    with pytest.raises(ValueError, match="traceEvents"):
        merged([], trace)


@pytest.mark.parametrize("text", builders.ATTACKS)
def test_hostile_text_is_text(text):
    found = events(render([process(text, args={text: text, "n": 1.5, "bad": float("nan"), "list": [text]})]))
    shown = json.dumps(found, ensure_ascii=False)
    assert all(char.isprintable() for char in shown)
    slice_ = next(e for e in found if e["ph"] == "X")
    assert (slice_["args"]["n"], slice_["args"]["bad"]) == (1.5, "nan")


@pytest.mark.parametrize("case", ["02_item_and_tensor_branch", "36_cache_miss_across_processes"])
def test_real_recordings_are_deterministic_traces(case):
    text = render(timelines(RECORDINGS / f"{case}.zip"))
    assert text == render(timelines(RECORDINGS / f"{case}.zip"))
    assert all(e["dur"] >= 0 for e in events(text) if e["ph"] == "X")


def test_no_processes_is_an_empty_trace():
    assert events(render([])) == []
