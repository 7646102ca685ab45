"""What a person reads after a trial, and what a report then says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from compilescope.advice import findings_json
from compilescope.analysis import build_report
from compilescope.recording import open_recording
from compilescope.trial.plain import trial_json
from compilescope.trial.results import Results
from compilescope.trial.text import trial_text
from compilescope.trial.trial import Outcome, Trial, with_verdicts
from compilescope.trial.verdict import Verdict

from .conftest import CORPUS


@pytest.fixture
def trial(make_run, make_finding):
    def make(word="verified", *, is_fix=True, notes=()):
        outcome = Outcome(make_finding(recompiles=4), Verdict(word, "recompiles 4 -> 0"), is_fix)
        base = make_run(counts={"recompiles": 4, "eager_calls": None}, step_s=0.1)
        runs = (base, base), (make_run(step_s=0.05), make_run(step_s=0.051))
        return Trial(("a=1",), *runs, Results(0, ()), (outcome,), tuple(notes))

    return make


def test_numbers_of_both_sides_and_a_verdict(trial):
    text = trial_text(trial(notes=["x\x1b[31m is no setting"]))
    assert "changed: a=1" in text
    assert "recompiles           4                          0" in text
    assert "eager calls          unknown                    0" in text
    assert "before (2 runs)" in text
    assert "results not compared" in text
    assert "steps are            calls of net" in text
    assert "verified   size_drift  train.py:3\n" in text
    assert "\x1b" not in text


def test_another_change_than_the_fix_is_said(trial):
    assert "(by another change than its fix)" in trial_text(trial(is_fix=False))


def test_json_has_the_same(trial):
    told = json.loads(json.dumps(trial_json(trial("no effect", is_fix=None)), allow_nan=False))
    assert [f["verified"] for f in told["findings"]] == ["no effect"]
    assert told["changed"][0]["step_s"]["value"] == 0.05
    assert told["before"][0]["eager_calls"] is None


def test_a_report_carries_verdicts(trial, make_finding):
    report = build_report(open_recording(CORPUS / "10_batch_size_drift.zip"))
    rows = findings_json([make_finding(recompiles=4), make_finding("dtype_change")])
    carried = with_verdicts(replace(report, findings=rows), trial())
    assert [row["verified"] for row in carried.findings] == ["verified", None]
