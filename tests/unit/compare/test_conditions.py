from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from compare_runs import finding, frame, made

from compilescope.analysis.report import (
    Bucket,
    CacheTotals,
    Cudagraphs,
    CudagraphSkip,
    Damage,
    Phases,
    ProcessInfo,
)
from compilescope.compare import TimeLimits, compare

EMPTY = builders.empty()


def run(
    *, torch="2.13.0", device="CPU", compile_s=10.0, compiles=1, hits=0, misses=0, versions=None, **fields
):
    return made(
        recording=replace(EMPTY.recording, versions={"torch": torch, **(versions or {})}),
        processes=[ProcessInfo("p", 1, None, None, torch, "3.11.7", device)],
        totals=replace(EMPTY.totals, compile_wall_s=compile_s, compiles=compiles),
        caches=CacheTotals({"hit": hits, "miss": misses}, {}),
        **fields,
    )


def test_another_torch_or_device_is_said_first_and_times_are_not_compared():
    diff = compare(run(), run(torch="2.14.1", device="NVIDIA H200", compile_s=900.0))
    assert [(c.name, c.base, c.head) for c in diff.environment] == [
        ("torch", "2.13.0", "2.14.1"),
        ("device", "CPU", "NVIDIA H200"),
    ]
    assert diff.verdict == [
        "Not the same environment: torch 2.13.0 → 2.14.1, device CPU → NVIDIA H200. Times are not compared.",
        "Nothing else differs.",
    ]
    assert not any(row.differs for row in diff.times)
    assert diff.differs is True


def test_a_driver_that_only_one_run_recorded():
    diff = compare(run(), run(versions={"driver": "580.65"}))
    assert [(c.name, c.base, c.head) for c in diff.environment] == [("driver", None, "580.65")]


def test_another_compilescope_is_a_condition_and_no_difference():
    diff = compare(run(versions={"compilescope": "0.1"}), run(versions={"compilescope": "0.2"}))
    assert diff.environment == []
    assert diff.conditions == ["recorded by CompileScope 0.1 and 0.2"]
    assert diff.differs is False


@pytest.mark.parametrize(
    ("base_s", "head_s", "differs"),
    [
        (10.0, 19.0, False),  # not twice as long
        (1.0, 9.0, False),  # not 10 s longer
        (10.0, 31.0, True),
        (31.0, 10.0, True),
        (None, 31.0, False),
    ],
)
def test_times_by_factor_and_floor(base_s, head_s, differs):
    diff = compare(run(compile_s=base_s), run(compile_s=head_s, compiles=2))
    assert [row.differs for row in diff.times if row.name == "compile_wall_s"] == [differs]
    if differs:
        assert diff.direction == ("worse" if head_s > base_s else "better")
        assert diff.verdict[1].startswith("Compiling took: ")


def test_the_same_work_in_another_time_is_the_machine():
    diff = compare(run(compile_s=5.0), run(compile_s=46.0))
    assert (diff.differs, diff.direction) == (False, "same")
    assert diff.conditions[0].startswith("compiling took 5.00 s in BASE and 46 s in HEAD, and both compiled")
    assert compare(run(compile_s=5.0), run(compile_s=6.0)).conditions == []


def test_the_limits_are_the_callers():
    diff = compare(run(compile_s=1.0), run(compile_s=1.5, compiles=2), TimeLimits(1.2, 0.1))
    assert [row.differs for row in diff.times if row.name == "compile_wall_s"] == [True]


def test_parts_of_the_time_are_shown_and_do_not_decide():
    diff = compare(run(phases=Phases({"a": 1.0})), run(phases=Phases({"a": 500.0})))
    assert [(r.base_s, r.head_s, r.differs) for r in diff.times if r.name == "compile_forward_s"] == [
        (1.0, 500.0, False)
    ]
    assert diff.differs is False


@pytest.mark.parametrize(("hits", "misses", "compared"), [(0, 3, True), (5, 0, True), (2, 1, False)])
def test_times_are_compared_only_where_caches_were_as_warm(hits, misses, compared):
    base = run(compile_s=10.0, hits=0 if hits != 5 else 3, misses=3 if hits != 5 else 0)
    diff = compare(base, run(compile_s=100.0, compiles=2, hits=hits, misses=misses))
    assert any(row.differs for row in diff.times) is compared
    assert any("cache hit" in text for text in diff.conditions) is not compared


def test_what_makes_a_recording_doubtful_is_a_condition():
    doubtful = run()
    recording = replace(EMPTY.recording, complete=False, exit_status=137, ended="killed by SIGKILL")
    processes = [replace(doubtful.report.processes[0], damage=[Damage("torn-line", "events.jsonl:9", "")])]
    report = replace(
        doubtful.report, recording=recording, processes=processes, unknown_records={"new_kind": 3}
    )
    said = compare(run(), replace(doubtful, report=report)).conditions
    assert [text.split(":")[0] for text in said[:4]] == ["HEAD"] * 4
    assert "killed by SIGKILL" in said[0]


@pytest.mark.parametrize(
    ("base", "head", "direction"), [(0, 1, "worse"), (137, 0, "better"), (1, 2, "other")]
)
def test_a_program_that_fails_now_is_worse(base, head, direction):
    runs = [made(recording=replace(EMPTY.recording, exit_status=status)) for status in (base, head)]
    assert compare(*runs).direction == direction


def test_a_run_that_did_not_end_is_not_better_for_its_fewer_faults():
    cut = made(recording=replace(EMPTY.recording, complete=False))
    whole = made((finding(),))
    assert (compare(whole, cut).direction, compare(cut, whole).direction) == ("other", "other")
    assert compare(made(), replace(cut, findings=(finding(),))).direction == "worse"


def test_steps_are_calls_of_functions_and_not_of_what_resumes():
    base = run(frames=[frame(compiled_calls=5)])
    split = run(frames=[frame(compiled_calls=5), frame(5, 5, compiled_calls=5)])
    assert compare(base, split).conditions == []
    longer = run(frames=[frame(compiled_calls=9)])
    assert compare(base, longer).conditions == ["BASE made 5 calls and HEAD 9: what grows with steps differs"]


def test_counts_of_buckets_and_cuda_graphs():
    rungs = [
        Bucket("0/0", {}, "pin", hits=3, padded_rows=7),
        Bucket("0/0", {}, "pin", refused="no entry"),
        Bucket("0/0", {}, "eager", hits=2),
    ]
    skips = [CudagraphSkip("mutation", 2, None, None)]
    head = run(buckets=rungs, cudagraphs=[Cudagraphs("p", True, None, 4, None, skips)])
    rows = {row.name: (row.base, row.head) for row in compare(run(), head).counts if row.differs}
    assert rows == {
        "bucket_rungs": (0, 2),
        "bucket_rungs_refused": (0, 1),
        "padded_rows": (0, 7),
        "calls_outside_buckets": (0, 2),
        "cudagraph_recordings": (0, 4),
        "cudagraph_skips": (0, 2),
    }


def test_an_unknown_count_is_not_zero():
    totals = replace(EMPTY.totals, eager_calls=None)
    diff = compare(made(totals=totals), made())
    (row,) = [row for row in diff.counts if row.name == "eager_calls"]
    assert (row.base, row.differs, row.more) == (None, EMPTY.totals.eager_calls is not None, 0)


def test_nothing_differs():
    diff = compare(run(), run())
    assert (diff.differs, diff.direction) == (False, "same")
    assert diff.verdict == ["No difference: the same findings, counts, graphs, kernels and cache keys."]
    assert compare(made((finding(),)), made((finding(),))).differs is False
