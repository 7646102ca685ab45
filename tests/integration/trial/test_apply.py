"""Changes from outside, on real programs: buckets, settings, diffs, and verdicts that are kept."""

from __future__ import annotations

import json

from click.testing import CliRunner

from compilescope.cli.advise import command as advise

SIZES = """
import torch
import compilescope

@torch.compile(backend="aot_eager", dynamic=False)
def f(x):
    return (x * 2).sum(0)

other = torch.compile(lambda y: y + 1, backend="eager")

for i in range(40):
    x = torch.ones(3 + i % 11, 3)
    compilescope.check("f", f(x))
    other(torch.ones(2))
"""
PRESET = """
import torch
import torch._dynamo

torch._dynamo.config.specialize_float = True

@torch.compile(backend="eager")
def f(x, rate):
    return x * rate

for i in range(6):
    f(torch.ones(3), 0.1 * (i + 1))
"""
BROKEN_BACKEND = """
import torch

def broken(graph, inputs):
    raise RuntimeError("no kernel for you")

@torch.compile(backend=broken)
def f(x):
    return x + 1

for _ in range(3):
    f(torch.ones(3))
"""
SCALAR = """
import torch

@torch.compile(backend="eager")
def f(x):
    print("loss", x.shape)
    scale = x.sum().item()
    return x * scale

for _ in range(4):
    f(torch.ones(3))
"""


def test_buckets_planned_from_the_recording_end_the_recompiles(recorded, verify):
    recording = recorded(SIZES)
    status, told = verify(str(recording), "--apply", "size_drift", "--bucketed", "-n", "1")
    assert any(phrase.startswith("buckets of x.size(0): ") for phrase in told["change"]), told["change"]
    (finding,) = told["findings"]
    assert (finding["rule"], finding["verified"]) == ("size_drift", "verified"), finding
    before, changed = told["before"][0], told["changed"][0]
    assert (before["recompiles"], before["eager_calls"] > 0) == (7, True)
    assert (changed["recompiles"], changed["eager_calls"], changed["failures"]) == (0, 0, 0)
    assert told["results"]["text"] == "results equal (40 values compared)"
    assert told["notes"] == []
    assert status == 0


def test_a_setting_goes_over_the_programs_own_and_says_so(recorded, verify):
    recording = recorded(PRESET)
    _, told = verify(str(recording), "--apply", "all", "-n", "1")
    assert told["change"] == ["torch._dynamo.config.specialize_float=False"]
    assert told["notes"] == ["the program had set torch._dynamo.config.specialize_float to True"]
    assert (told["before"][0]["recompiles"], told["changed"][0]["recompiles"]) == (5, 1)
    assert told["findings"][0]["verified"] == "verified"


def test_an_error_of_the_backend_is_suppressed(recorded, verify):
    recording = recorded(BROKEN_BACKEND)
    _, told = verify(str(recording), "--apply", "backend_error", "-n", "1")
    assert told["change"] == ["torch._dynamo.config.suppress_errors=True"]
    assert (told["before"][0]["exit_status"], told["changed"][0]["exit_status"]) == (1, 0)
    (finding,) = told["findings"]
    assert finding["verified"] == "verified"
    assert finding["reason"] == "the program ends with status 0, before with 1"
    assert finding["is_fix"] is False


def test_each_finding_is_changed_in_its_own_way_and_the_verdicts_are_kept(recorded, verify):
    recording = recorded(SCALAR)
    _, told = verify(str(recording), "--apply", "all", "-n", "1")
    words = {f["rule"]: f["verified"] for f in told["findings"]}
    assert set(words.values()) == {"verified"}, told
    kept = json.loads((recording / "verdicts.json").read_text())["findings"]
    assert {identity.split("|")[0] for identity in kept} == set(words)
    shown = CliRunner().invoke(advise, [str(recording), "--format", "json"], standalone_mode=False).stdout
    for finding in json.loads(shown):
        assert finding["verified"] == words[finding["rule"]]
        told_figures = finding["verification"]
        assert told_figures["before"]["break_events"] > told_figures["after"].get("break_events", 0)
    text = CliRunner().invoke(advise, [str(recording)], standalone_mode=False).stdout
    assert "tried    verified: break events 1 -> 0" in text


def test_mode_and_caches_are_settings_too(recorded, verify):
    recording = recorded(SCALAR)
    cache = "torch._inductor.config.fx_graph_cache=False"
    _, told = verify(str(recording), "--set", cache, "--set", "mode=max-autotune-no-cudagraphs", "-n", "1")
    assert told["change"] == [cache, "mode=max-autotune-no-cudagraphs"]
    assert told["notes"] == []
