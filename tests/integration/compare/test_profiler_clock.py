"""Our trace and torch.profiler's are on one clock: measured around the same compile in one process."""

from __future__ import annotations

import gzip
import json

# Recorded on the profiled thread itself, so that only rounding and the profiler's own entry lie between.
TOLERANCE_US = 1_000

PROGRAM = """
import time
import torch
from torch.profiler import ProfilerActivity, profile, record_function


def f(x):
    y = torch.sin(x)
    print("break")
    return torch.cos(y)


with profile(activities=[ProfilerActivity.CPU]) as p:
    for name, size in (("warm up", 4), ("measured", 8)):
        torch._dynamo.reset()
        with record_function(name):
            before = time.time_ns()
            torch.compile(f, backend="aot_eager")(torch.ones(size))
            after = time.time_ns()
p.export_chrome_trace("profile.json")
with open("measured.txt", "w") as file:
    file.write(f"{before} {after}")
"""


def test_the_compile_lies_inside_of_the_profilers_span(command, record, tmp_path):
    recording = record(PROGRAM, "run")
    profile = json.loads((tmp_path / "profile.json").read_text())
    (tmp_path / "profile.json.gz").write_bytes(gzip.compress((tmp_path / "profile.json").read_bytes()))
    for name in ("profile.json", "profile.json.gz"):
        done = command("report", recording, "--format", "perfetto", "--merge", name, "-o", "-")
        trace = json.loads(done.stdout)
        assert len(trace["traceEvents"]) > len(profile["traceEvents"])
    spans = {e["name"]: e for e in trace["traceEvents"] if e.get("cat") == "user_annotation"}
    around = spans["measured"]
    start, end = around["ts"], around["ts"] + around["dur"]
    ours = [e for e in trace["traceEvents"] if e.get("cat") == "torch.compile" and e["ph"] == "X"]
    inside = [e for e in ours if e["ts"] >= start - TOLERANCE_US]
    assert {e["args"].get("compile_id") for e in inside} >= {"0/0", "1/0"}
    assert all(e["ts"] + e["dur"] <= end + TOLERANCE_US for e in inside)
    others = [e for e in ours if e not in inside]
    assert others
    assert all(e["ts"] + e["dur"] <= start + TOLERANCE_US for e in others)

    # The profiler's own clock against Python's, at both ends: a shift by a constant would show here.
    before_ns, after_ns = map(int, (tmp_path / "measured.txt").read_text().split())
    base_ns = profile["baseTimeNanoseconds"]
    assert abs((base_ns + start * 1000 - before_ns) / 1000) <= 50 * TOLERANCE_US
    assert abs((base_ns + end * 1000 - after_ns) / 1000) <= 50 * TOLERANCE_US

    breaks = [e for e in trace["traceEvents"] if str(e.get("name", "")).startswith("graph break")]
    assert len(breaks) == 2
    assert start <= breaks[-1]["ts"] <= end
