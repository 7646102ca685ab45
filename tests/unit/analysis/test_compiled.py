"""Below Dynamo, on recordings of real programs whose answers are known by construction."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.analysis import Report, build_report
from compilescope.analysis.report import Bucket, Graph
from compilescope.recording import open_recording

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "corpus" / "compiled"


@pytest.fixture(scope="module")
def training() -> Report:
    return build_report(open_recording(RECORDINGS / "train_dynamic.zip"))


@pytest.fixture(scope="module")
def ladder() -> Report:
    return build_report(open_recording(RECORDINGS / "ladder.zip"))


def graph(report: Report, compile_id: str, *, backward: bool = False) -> Graph:
    (found,) = (g for g in report.graphs if g.compile_id == compile_id and g.backward == backward)
    return found


def test_every_record_of_our_own_is_known(training: Report, ladder: Report) -> None:
    assert training.unknown_records == ladder.unknown_records == {}


def test_a_backward_graph_is_a_row_of_its_own_with_its_calls(training: Report) -> None:
    for compile_id, calls in (("0/0", 1), ("0/1", 4), ("0/2", 2)):
        forward, backward = graph(training, compile_id), graph(training, compile_id, backward=True)
        assert (forward.direction, backward.direction) == ("forward", "backward")
        assert forward.calls == backward.calls == calls
    assert training.totals.graphs == sum(not g.backward for g in training.graphs) == 4


def test_how_a_backward_was_compiled(training: Report) -> None:
    """Sizes saved for the backward make torch compile it with the forward; else lazily."""
    assert graph(training, "0/0", backward=True).backward_compiled == "lazily"
    assert graph(training, "0/1", backward=True).backward_compiled == "with the forward"
    assert (graph(training, "0/1", backward=True).compile_s or 0) > 0


def test_kernels_of_two_linear_layers(training: Report) -> None:
    forward = graph(training, "0/0")
    assert forward.kernels is not None
    assert forward.kernels["extern"] == 2
    assert {row.kind for row in forward.kernel_rows} == {"extern gemm", "c++ loop"}
    lines = {line.code for row in forward.kernel_rows for line in row.lines}
    assert "hidden = torch.relu(self.first(x))" in lines


def test_bytes_of_a_pointwise_graph(training: Report) -> None:
    """Three operations on 1,000 float32, one kernel: read once and written once."""
    fusion = graph(training, "1/0").fusion
    assert fusion is not None
    assert (fusion.bytes_eager, fusion.bytes_after, fusion.kernels) == (24_000, 8_000, 1)
    assert graph(training, "1/0").direction == "inference"


def test_what_is_saved_for_the_backward(training: Report) -> None:
    """The hidden activations, 8 x 32 float32, in some form; inputs and weights are no memory of their own."""
    aot = graph(training, "0/0").aot
    assert aot is not None
    assert aot.saved_bytes is not None
    assert aot.saved_bytes <= 8 * 32 * 4 * 2
    assert aot.backward_ops


def test_symbols_with_the_line_that_made_them(training: Report) -> None:
    dynamic = graph(training, "0/1")
    assert {s.symbol for s in dynamic.symbols} >= {p.expr for p in dynamic.placeholders if p.expr}
    (made,) = (s for s in dynamic.symbols if s.sources == ["L['x'].size()[0]"])
    assert made.hint == 12
    assert made.range == "[6, int_oo]"
    branch = next(g for g in dynamic.symbol_guards if g.expr.endswith("> 5"))
    assert branch.at is not None
    assert branch.at.code == "if x.shape[0] > 5:"


def test_guards_by_kind_add_up_to_the_list(training: Report) -> None:
    guards = graph(training, "0/0").guards
    assert guards is not None
    assert guards.listed
    assert guards.count == len(guards.rows)
    assert sum(guards.by_kind.values()) == sum(len(row.kinds) for row in guards.rows)
    assert guards.hot_check_us is not None
    assert guards.cold_check_us is not None
    assert guards.hot_check_us < guards.cold_check_us


def test_phases_add_up_to_the_compile_wall(training: Report) -> None:
    phases = training.phases
    assert phases.sum_s == pytest.approx(phases.wall_s, rel=0.02)
    assert phases.sum_s == pytest.approx(training.totals.compile_wall_s, rel=0.02)
    assert sum(frame.compile_s for frame in phases.frames) == pytest.approx(phases.sum_s, rel=0.001)
    assert "entire_backward_compile" in phases.backward
    assert phases.open == []


def test_phases_of_a_ladder_add_up_too(ladder: Report) -> None:
    assert ladder.phases.sum_s == pytest.approx(ladder.phases.wall_s, rel=0.1)


def test_sizes_of_a_static_and_two_dynamic_entries_are_joined(training: Report) -> None:
    (sizes,) = training.sizes
    assert sizes.names == ["x.size(0)"]  # y always has the same size
    counted = {row.values["x.size(0)"]: (row.count, row.basis) for row in sizes.rows}
    assert counted == {
        8: (1, "static"),
        12: (2, "counted"),
        20: (1, "counted"),
        9: (1, "counted"),
        3: (2, "counted"),
    }
    assert [step.counts for step in sizes.steps] == [{"8": 1}, {"12": 2, "20": 1, "9": 1}, {"3": 2}]
    assert (sizes.seen_calls, sizes.unseen_calls, sizes.unseen_share) == (7, 0, 0.0)


def test_a_cache_miss_is_explained_by_the_part_of_the_key_that_differs(training: Report) -> None:
    first, *later = (miss for miss in training.cache_misses if miss.cache == "fx_graph")
    assert first.compared_with is None
    assert all(miss.changes for miss in later if miss.compared_with)


def rungs(report: Report, graph_id: str) -> dict[str, Bucket]:
    return {b.rung: b for b in report.buckets if b.graph == graph_id}


def test_rungs_with_their_hits(ladder: Report) -> None:
    large, small = rungs(ladder, "0/0"), rungs(ladder, "0/1")
    assert {name: large[name].hits for name in ("8", "16", "32")} == {"8": 2, "16": 1, "32": 0}
    assert small["4"].hits == 2
    assert large["8"].dims == {"tokens": 8}
    assert large["8"].concretized["l_x_"] == [8, 16]
    assert [(s.values, s.count) for s in large["8"].sizes] == [({"tokens": 8}, 2)]
    assert large["4"].refused
    assert large["4"].hits is None
    assert (large["4"].function, large["4"].file, large["4"].line) == ("run", "ladder.py", 11)


def test_every_call_after_warm_up_is_in_some_rung(ladder: Report) -> None:
    assert sum(b.hits or 0 for b in ladder.buckets) == 9


def test_compiles_of_rungs_count_as_compiling(ladder: Report) -> None:
    spent = sum(b.compile_s or 0.0 for b in ladder.buckets)
    assert ladder.totals.compile_wall_s is not None
    assert ladder.totals.compile_wall_s > 0.9 * spent > 1.0


def test_without_details_nothing_below_dynamo_is_read() -> None:
    report = build_report(open_recording(RECORDINGS / "train_dynamic.zip"), detail=False)
    assert all(g.kernels is None and not g.symbol_guards for g in report.graphs)
    assert any("without details" in m.reason for m in report.missing)
    assert report.totals.compiles == 4
