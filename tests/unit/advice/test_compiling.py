"""Rules about compiling itself: guards, repeated blocks, caches, compiled autograd, buckets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from report_rows import frame, graph, tensor

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Bucket, BucketSize, Report

MakeReport = Callable[..., Report]

JOB = """import time, torch
TAG = {value}

@torch.compile
def forward(x):
    return x * TAG
"""


def heavy(report: MakeReport, shape: list[int], wall_s: float = 100.0) -> list[Finding]:
    rows = report(frames=[frame()], graphs=[graph(placeholders=[tensor("L['x']", shape)])], wall_s=wall_s)
    return advise(rows, guards={(rows.frames[0].process, "0/0"): 2000})


def test_many_guards_matter_for_a_small_graph_only(report: MakeReport) -> None:
    (found,) = heavy(report, [4, 150])
    assert (found.rule, found.severity, found.cost["guards"].value) == ("guard_overhead", "medium", 2000)
    assert found.cost["guard_check_s"].basis == "estimated"
    assert heavy(report, [1024, 1024]) == []


def test_many_guards_matter_when_they_take_a_share_of_the_run(report: MakeReport) -> None:
    assert [f.severity for f in heavy(report, [1024, 1024], wall_s=0.2)] == ["low"]


def layers(number: int, compile_s: float) -> Any:
    sources = [
        f"L['self']._modules['layers']._modules['{i}']._parameters['{p}']"
        for i in range(number)
        for p in "wb"
    ]
    return graph(compile_s=compile_s, placeholders=[tensor(source, [8, 8]) for source in sources])


def test_a_graph_of_equal_blocks_that_compiles_long_asks_for_regional_compilation(report: MakeReport) -> None:
    (found,) = advise(report(graphs=[layers(12, 120.0)], wall_s=300.0))
    assert (found.rule, found.fix_kind, found.severity) == (
        "same_block_compiled_many_times",
        "regional_compilation",
        "medium",
    )
    assert found.saving is not None
    assert found.saving.seconds == pytest.approx(110.0)
    assert found.saving.basis.startswith("estimated")


def test_few_blocks_or_a_short_compile_ask_for_nothing(report: MakeReport) -> None:
    assert advise(report(graphs=[layers(3, 120.0)])) == []
    assert advise(report(graphs=[layers(12, 5.0)])) == []


def cached(process: str, outcome: str, shape: int = 4) -> Any:
    inputs = [tensor("L['x']", [shape])]
    return graph(process=process, cache={"fx_graph": {outcome: 1}}, placeholders=inputs, line=5)


@pytest.mark.parametrize(
    ("value", "severity"), [("time.time()", "medium"), ("0.5", "note"), ("torch.tensor(time.time())", "note")]
)
def test_a_constant_from_the_clock_defeats_the_cache(report: MakeReport, value: str, severity: str) -> None:
    rows = report(graphs=[cached("p0", "miss"), cached("p1", "miss")])
    (found,) = advise(rows, {"train.py": JOB.format(value=value)})
    assert (found.rule, found.severity) == ("cache_key_unstable_constant", severity)


def test_a_hit_in_any_process_or_other_shapes_are_no_fault_of_the_key(report: MakeReport) -> None:
    assert advise(report(graphs=[cached("p0", "miss"), cached("p1", "hit")])) == []
    assert advise(report(graphs=[cached("p0", "miss"), cached("p1", "miss", shape=8)])) == []
    assert advise(report(graphs=[cached("p0", "miss")])) == []


def test_one_capture_of_the_backward_is_right_and_two_are_a_recapture(report: MakeReport) -> None:
    one, two = frame(compile_ids=["!0/1/0"]), frame(compile_ids=["!1/3/0"])
    assert advise(report(frames=[one])) == []
    assert [f.rule for f in advise(report(frames=[one, two]))] == ["compiled_autograd_recapture"]


def rung(size: int, **fields: Any) -> Bucket:
    return replace(Bucket("0/0", {"s0": size}, "pad", compile_s=2.0, hits=10), **fields)


def test_rungs_that_are_idle_refused_or_mostly_padding(report: MakeReport) -> None:
    buckets = [rung(16, hits=0), rung(32, padded_rows=160), rung(64, refused="x dim 0 is pinned to 32")]
    found = {f.rule: f for f in advise(report(buckets=buckets, graphs=[graph()]))}
    assert set(found) == {"bucket_never_hit", "bucket_refused"}
    assert found["bucket_never_hit"].cost["compile_s"].value == 2.0
    buckets = [rung(32, padded_rows=160)]
    assert [f.rule for f in advise(report(buckets=buckets, graphs=[graph()]))] == ["bucket_ladder_poor_fit"]


MUTATED = """skipping cudagraphs due to mutated inputs (1 instances). Found from :
   File "/home/me/job/train.py", line 5, in forward
    buf.add_(1)
"""


def test_skipped_cuda_graphs_are_told_at_the_line_that_torch_names(report: MakeReport) -> None:
    (found,) = advise(report(), {"train.py": "\n" * 4 + "    buf.add_(1)\n"}, warnings=[MUTATED, MUTATED])
    assert (found.rule, found.fix_kind, found.place) == (
        "cudagraph_skipped",
        "avoid_input_mutation",
        "train.py:5",
    )
    assert found.cost["cudagraph_skips"].value == 2
    assert "mutated inputs (1 instances)" in found.summary
    assert found.identity.endswith("mutated inputs (N instances)")


@pytest.mark.parametrize(
    ("reason", "fix_kind"),
    [("cpu device (arg0_1)", "move_to_one_device"), ("incompatible ops", "move_out_of_region")],
)
def test_the_change_follows_the_reason(report: MakeReport, reason: str, fix_kind: str) -> None:
    (found,) = advise(report(), warnings=[f"skipping cudagraphs due to {reason}"])
    assert found.fix_kind == fix_kind


def test_many_recorded_sizes_are_one_finding(report: MakeReport) -> None:
    text = "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. "
    texts = [f"{text}We have observed {n} distinct sizes." for n in (9, 17)]
    (found,) = advise(report(), warnings=[*texts, "torch._dynamo hit config.recompile_limit (8)"])
    assert (found.rule, found.cost["cudagraph_sizes"].value) == ("cudagraph_rerecorded", 17)


def test_traffic_outside_the_ladder_is_told_from_a_quarter_of_the_calls_on(report: MakeReport) -> None:
    outside = rung(0, kind="dynamic", compile_s=1.0, sizes=[BucketSize({"s0": 48}, 9), BucketSize(None, 1)])
    (found,) = advise(report(buckets=[rung(32), outside], graphs=[graph()]))
    assert (found.rule, found.severity, found.executions) == ("bucket_traffic_outside", "low", 10)
    assert found.summary.endswith(
        "10 of 20 calls came with sizes that are not on the ladder, and go to the dynamic artifact: 48"
    )
    (eager,) = advise(report(buckets=[rung(32), replace(outside, kind="eager")], graphs=[graph()]))
    assert (eager.severity, "run eager" in eager.summary) == ("medium", True)
    few = [rung(32, hits=90), outside]
    assert advise(report(buckets=few, graphs=[graph()])) == []
    alone = [outside]  # no ladder to be outside of
    assert advise(report(buckets=alone, graphs=[graph()])) == []


def test_rungs_that_cost_more_than_the_rest_of_the_run_cannot_have_paid(report: MakeReport) -> None:
    def run(wall_s: float, compiling_s: float | None) -> list[Finding]:
        rows = report(wall_s=wall_s, buckets=[rung(16), rung(32)], graphs=[graph()])
        return advise(replace(rows, totals=replace(rows.totals, compile_wall_s=compiling_s)))

    (found,) = run(7.0, 4.0)
    assert (found.rule, found.severity, found.cost["compile_s"].value) == ("bucket_does_not_pay", "note", 4.0)
    assert "2 static rungs took 4.00 s to compile, more than all of the run that was not" in found.summary
    assert run(9.0, 4.0) == []
    assert run(7.0, None) == []
