"""Bucketed programs that do as they should: what a warm-up makes on purpose is no finding about them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.launch import Target, run_program
from compilescope.model import load
from compilescope.recording import open_recording

SETUP = """
import torch
from compilescope import BucketLadder, bucketed
from compilescope.bucketing import Pad

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        {before}return self.linear(x).relu()

pads = BucketLadder.pads
"""
SERVED = (
    SETUP.format(before="")
    + """
model = bucketed(Model(), {"B": pads([4, 8]), "T": pads([8, 16])}, {"x": {0: "B", 1: "T"}},
                 pad=[Pad("x", 0), Pad("x", 1)], inner="aot_eager")
with torch.no_grad():
    model.warm_up(torch.randn(3, 5, 8), grad=False, progress=False)
    for _ in range(10):
        for sizes in ((4, 8), (4, 16), (8, 8), (8, 16)):
            model(torch.randn(*sizes, 8))
"""
)
TRAINED = (
    SETUP.format(before="")
    + """
model = bucketed(Model(), pads([8, 16, 32]), {"x": {0: "n"}}, pad=[Pad("x", 0)], inner="aot_eager")
model.warm_up(torch.randn(5, 8), progress=False)
for size in [8, 7, 16, 15] * 10 + [1, 40]:
    model(torch.randn(size, 8)).sum().backward()
"""
)
REFUSED = (
    SETUP.format(before="x = x * 2 if x.shape[0] % 4 == 1 else x\n        ")
    + """
model = bucketed(Model(), BucketLadder.pins([8, 16, 32]), {"x": {0: "n"}}, inner="aot_eager", build="capture")
for size in [9, 13] * 10:
    with torch.no_grad():
        model(torch.randn(size, 8))
    model(torch.randn(size, 8)).sum().backward()
"""
)

BROKEN_AT_ONE = (
    SETUP.format(before="x = x * 2\n        if x.shape[0] == 1:\n            print('one')\n        ")
    + """
model = bucketed(Model(), pads([8, 16]), {"x": {0: "n"}}, pad=[Pad("x", 0)], inner="aot_eager")
model.warm_up(torch.randn(5, 8), grad=False, progress=False)
with torch.no_grad():
    for size in [5, 8, 16, 15, 7] * 2 + SIZES:
        model(torch.randn(size, 8))
"""
)
COLD = (
    SETUP.format(before="")
    + """
model = bucketed(Model(), pads([8, 16]), {"x": {0: "n"}}, pad=[Pad("x", 0)], inner="aot_eager")
with torch.no_grad():
    for size in [1, 5, 8, 16, 5]:
        model(torch.randn(size, 8))
"""
)
AUTOCAST = """
model.warm_up(torch.randn(5, 8), progress=False)
with torch.autocast("cpu", torch.bfloat16):
    model(torch.randn(9, 8))
"""


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    """Report and findings of a program, which is run once for all tests."""
    done = {}

    def of(code):
        if code not in done:
            folder, before = tmp_path_factory.mktemp("program"), Path.cwd()
            os.chdir(folder)
            try:
                Path("serve.py").write_text(code)
                run_program(Target("script", "serve.py"), output=Path("run"), say=lambda _: None)
                done[code] = examine(load(open_recording(Path("run"))))
            finally:
                os.chdir(before)
            assert done[code][0].recording.exit_status == 0
        return done[code]

    return of


@pytest.fixture(autouse=True)
def no_job_id(monkeypatch):
    monkeypatch.delenv("TORCH_COMPILE_JOB_ID", raising=False)


def test_a_rung_that_another_graph_of_the_function_has_is_not_refused(examined):
    report, found = examined(SERVED)
    refused = [rung for rung in report.buckets if rung.refused]
    assert len(refused) == 8  # by the graphs that the warm-up made for sizes of 1
    assert all(rung.elsewhere and rung.state == "no grad" for rung in refused)
    assert [finding.summary for finding in found if finding.rule.startswith("bucket_")] == []


def test_copies_for_another_grad_mode_and_fallbacks_are_not_rungs_without_use(examined):
    report, found = examined(TRAINED)
    idle = {(rung.rung, rung.state) for rung in report.buckets if rung.hits == 0}
    assert {("<=8", "no grad"), ("<=16", "no grad"), ("dynamic", "no grad")} <= idle
    (unused,) = [finding for finding in found if finding.rule == "bucket_never_hit"]
    assert unused.summary.endswith("1 rung compiled and never used: <=32")
    assert not any(finding.rule == "bucket_refused" for finding in found)


def test_a_graph_without_rungs_has_refused_none(examined):
    report, _ = examined(TRAINED)
    (bypassed,) = [rung for rung in report.buckets if rung.bypassed]
    assert (bypassed.rung, bypassed.hits, bypassed.refused) == ("bypassed", 1, None)
    assert bypassed.bypassed.startswith("n is x.size(0) == 1")


def test_rungs_that_one_guard_forbids_are_one_finding(examined):
    _, found = examined(REFUSED)
    (refused,) = [finding for finding in found if finding.rule == "bucket_refused"]
    assert "3 rungs were refused, 8, 16, 32: a guard of the trace excludes this size" in refused.summary
    assert "serve.py:12" in refused.summary


def test_what_a_warm_up_compiles_is_not_blamed_on_the_program(examined):
    for code in (SERVED, TRAINED):
        report, found = examined(code)
        assert report.totals.recompiles == 0
        assert report.totals.warm_up_recompiles == 3
        assert report.recompiles
        assert all(row.warm_up for row in report.recompiles)
        assert any("no recompile" in sentence for sentence in report.verdict.sentences)
        assert {finding.rule for finding in found} <= {"bucket_never_hit", "bucket_ladder_poor_fit"}


def test_a_recompile_that_the_program_makes_after_a_warm_up_is_its_own(examined):
    _, found = examined(REFUSED + AUTOCAST)
    assert "autocast_toggle" in {finding.rule for finding in found}


def test_calls_of_a_warm_up_are_not_the_programs(examined):
    report, _ = examined(SERVED)
    assert report.totals.compiled_calls == 40
    (sizes,) = report.sizes
    assert sorted(tuple(row.values.values()) for row in sizes.rows) == [(4, 8), (4, 16), (8, 8), (8, 16)]
    assert [row.count for row in sizes.rows] == [10] * 4
    assert (sizes.seen_calls, sizes.unseen_calls) == (40, 0)
    assert sum(sum(step.counts.values()) for step in sizes.steps) == 40


def test_a_bucketed_model_is_not_told_to_mark_the_dims_that_it_marks(examined):
    """Without a warm-up: the first call has a size of 1, which torch keeps apart whatever is marked."""
    report, found = examined(COLD)
    assert report.totals.recompiles == 1
    assert [finding.rule for finding in found] == ["size_zero_or_one"]
    assert "mark_dynamic" not in found[0].fix


@pytest.mark.parametrize(("sizes", "is_told"), [("[]", False), ("[1, 1]", True)])
def test_a_graph_break_that_only_a_warm_up_meets_is_no_finding(examined, sizes, is_told):
    report, found = examined(BROKEN_AT_ONE.replace("SIZES", sizes))
    (site,) = report.graph_breaks
    assert (site.runtime_hits, site.warm_up) == ((2, False) if is_told else (0, True))
    assert report.totals.graph_break_sites == is_told
    assert ("print_in_compiled_region" in {finding.rule for finding in found}) is is_told
