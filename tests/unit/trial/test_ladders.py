"""Buckets for a trial: planned from the sizes a recording has, never padded."""

from __future__ import annotations

from compilescope.advice import examine
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.trial.changes import change_for
from compilescope.trial.ladders import planned_buckets

from .conftest import CORPUS


def found(name):
    return examine(load(open_recording(CORPUS / f"{name}.zip")))


def test_the_sizes_that_came_get_rungs():
    report, findings = found("38_poor_bucket_ladder")
    change = change_for(report, findings, [findings[0].rule], bucketed=True)
    assert [each.pins for each in change.buckets] == [(32, 64, 128, 256)]
    for buckets in change.buckets:
        assert all(low <= hint <= high for low, high, hint in buckets.ranges)
        assert buckets.words() in change.words
        assert f"L['{buckets.argument}']:{buckets.dim}" in str(change.settings)


def test_only_what_the_finding_names_and_only_when_asked():
    report, findings = found("38_poor_bucket_ladder")
    assert change_for(report, findings, [findings[0].rule]).buckets == ()
    positional, own = found("10_batch_size_drift")  # its function has no name for the argument
    assert change_for(positional, own, [own[0].rule], bucketed=True).buckets == ()
    assert planned_buckets(report, ["L['nobody']:0", "L['self'].x:1", "nonsense"]) == ()
