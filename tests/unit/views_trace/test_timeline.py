"""From records to slices and moments of real recordings."""

from __future__ import annotations

import pytest
from compare_runs import CASES, RECORDINGS

from compilescope.advice import examine
from compilescope.analysis.timeline import ProcessTimeline, timeline
from compilescope.model import load
from compilescope.model.timeline import spans
from compilescope.recording import open_recording

LADDER = RECORDINGS.parent / "compiled" / "ladder.zip"


def timelines(path) -> list[ProcessTimeline]:
    opened = open_recording(path)
    run = load(opened)
    return timeline(run, spans(opened), examine(run)[0])


@pytest.mark.parametrize("case", CASES)
def test_slices_of_a_thread_are_nested(case):
    for process in timelines(RECORDINGS / f"{case}.zip"):
        around = []
        for part in process.slices:
            end = part.start_us + (part.duration_us or 0)
            while around and (around[-1][0] != part.thread or around[-1][1] <= part.start_us):
                around.pop()
            if around:
                assert end <= around[-1][1]
            if part.duration_us:
                around.append((part.thread, end))


@pytest.mark.parametrize("case", ["02_item_and_tensor_branch", "10_batch_size_drift", "37_rank_skew"])
def test_every_compile_has_a_slice_with_its_function(case):
    opened = open_recording(RECORDINGS / f"{case}.zip")
    report = examine(load(opened))[0]
    by_process = {p.id: p for p in timelines(RECORDINGS / f"{case}.zip")}
    for frame in report.frames:
        labels = [part.label for part in by_process[frame.process].slices]
        for compile_id in frame.compile_ids:
            assert any(f"[{compile_id}] {frame.function} {frame.file}" in label for label in labels)


def test_breaks_and_recompiles_are_moments_within_the_compile():
    (process,) = timelines(RECORDINGS / "02_item_and_tensor_branch.zip")
    kinds = [moment.kind for moment in process.moments]
    assert kinds.count("graph break") == 3
    assert kinds.count("recompile") == 1
    assert any(m.text.startswith("02_item_and_tensor_branch.py:16 ") for m in process.moments)
    first = min(part.start_us for part in process.slices)
    last = max(part.start_us + (part.duration_us or 0) for part in process.slices)
    assert all(first - 1_000 <= moment.time_us <= last for moment in process.moments)
    assert [m.time_us for m in process.moments] == sorted(m.time_us for m in process.moments)


def test_refused_recompiles_are_named():
    (process,) = timelines(RECORDINGS / "22_limit_hit_silently.zip")
    assert "refused recompile" in {moment.kind for moment in process.moments}


def test_ranks_name_their_process():
    names = [process.name for process in timelines(RECORDINGS / "37_rank_skew.zip")]
    assert names == ["37_rank_skew.py", "37_rank_skew.py (rank 0)", "37_rank_skew.py (rank 1)"]


def test_counts_of_a_bucket_end_where_the_report_does():
    (process,) = timelines(LADDER)
    report = examine(load(open_recording(LADDER)))[0]
    last = {count.series: count.value for count in process.counts}
    assert sum(last.values()) == sum(bucket.hits or 0 for bucket in report.buckets)
    assert all(count.time_us > 0 for count in process.counts)
