"""Traffic in the order of counter snapshots, and what is planned and scored from it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.report import FrameSizes, Graph, Placeholder, Report, SizeCount, SizeStep
from compilescope.analysis.traffic import traffic_of
from compilescope.ladder.planner import Limits, Traffic, TrafficError, study_ladder
from compilescope.ladder.planner.interval import gain_over


def graph(compile_id: str, shape: list[Any], calls: int, seen: dict[int, int] | None = None) -> Graph:
    return Graph(
        epoch=0,
        compile_id=compile_id,
        function="forward",
        file="model.py",
        line=12,
        ops=1,
        calls=calls,
        backward=False,
        compile_s=0.1,
        process="pid1",
        placeholders=[Placeholder("x", "tensor", "L['x']", "float32", shape)],
        sizes_seen=[SizeCount({"s0": size}, count) for size, count in (seen or {}).items()],
    )


def steps(*counts: dict[str, int], process: str = "pid1", start: int = 0) -> FrameSizes:
    rows = [SizeStep(f"2026-01-01T00:00:{start + n:02}", each) for n, each in enumerate(counts)]
    return FrameSizes("forward", "model.py", 12, process, ["x.size(0)"], [], 0, 0, 0, 0.0, rows, "0/0")


def report(graphs: list[Graph], sizes: list[FrameSizes]) -> Report:
    nothing: Any = None
    fields = {**dict.fromkeys(Report.__dataclass_fields__, nothing), "frames": [], "limit_hits": []}
    return Report(**{**fields, "graphs": graphs, "sizes": sizes})


STATIC = graph("0/0", [16], 10)
SYMBOLIC = graph("0/1", ["s0"], 30, {24: 20, 40: 10})


def test_static_and_symbolic_calls_come_in_order_of_the_snapshots() -> None:
    found = traffic_of(
        report([STATIC, SYMBOLIC], [steps({"16": 10}, {"24": 15}, {"24": 5, "40": 10, "other": 3})])
    )
    assert found.ordered
    assert found.sizes[:, 0].tolist() == [16, 24, 24, 40]
    assert found.counts.tolist() == [10, 15, 5, 10]
    assert found.moments is not None
    assert found.moments.tolist() == [0, 1, 2, 2]
    early, late = found.halves()
    assert early.calls == late.calls == 20
    assert set(early.sizes[:, 0].tolist()) == {16, 24}


def test_processes_are_joined_by_their_clocks() -> None:
    one, two = steps({"16": 5}, {"24": 20}), steps({"16": 5}, {"40": 10}, process="pid2", start=1)
    found = traffic_of(report([STATIC, SYMBOLIC], [two, one]))
    assert found.moments is not None
    assert list(zip(found.moments.tolist(), found.sizes[:, 0].tolist(), strict=True)) == [
        (0, 16),
        (1, 16),
        (1, 24),
        (2, 40),
    ]


def test_calls_after_the_last_snapshot_come_last_and_many_without_time_leave_no_order() -> None:
    few = traffic_of(report([STATIC, SYMBOLIC], [steps({"16": 10}, {"24": 20, "40": 7})]))
    assert few.ordered
    assert few.sizes[-1, 0] == 40
    assert few.counts[-1] == 3
    many = traffic_of(report([STATIC, SYMBOLIC], [steps({"16": 10}, {"24": 15})]))
    assert not many.ordered
    assert many.calls == 40


@pytest.mark.parametrize("sizes", [[], [steps({"16": 10, "24": 20, "40": 10})]])
def test_one_snapshot_tells_no_order(sizes: list[FrameSizes]) -> None:
    assert not traffic_of(report([STATIC, SYMBOLIC], sizes)).ordered


def test_snapshots_that_say_more_than_was_called_do_not_invent_calls() -> None:
    found = traffic_of(report([STATIC, SYMBOLIC], [steps({"16": 99, "7": 5}, {"24": 20, "40x2": 10})]))
    assert found.calls == 40


def test_drift_between_the_halves_of_a_recording_is_named() -> None:
    moving = [{str(16 + 8 * moment): 40} for moment in range(12)]
    symbolic = graph("0/1", ["s0"], 480, {16 + 8 * moment: 40 for moment in range(12)})
    study = study_ladder(traffic_of(report([symbolic], [steps(*moving)])), limits=Limits(max_rungs=3))
    assert [drift.drifts for drift in study.drifts] == [True]
    assert study.drifts[0].early_median < study.drifts[0].late_median
    assert any("12 intervals" in note for note in study.notes)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9), st.integers(1, 50)), min_size=2, max_size=30))
def test_halves_keep_every_call_and_the_order_of_intervals(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows)
    moments, sizes, counts = zip(*rows, strict=True)
    traffic = Traffic.of(sizes, counts=counts, moments=moments)
    early, late = traffic.halves()
    assert early.calls == traffic.calls // 2
    joined: Counter[tuple[int, int]] = Counter()
    for half in (early, late):
        assert half.moments is not None
        for moment, size, count in zip(half.moments, half.sizes[:, 0], half.counts, strict=True):
            joined[(int(moment), int(size))] += int(count)
    wanted: Counter[tuple[int, int]] = Counter()
    for moment, size, count in rows:
        wanted[(moment, size)] += count
    assert joined == wanted
    assert early.moments is not None
    assert late.moments is not None
    assert early.moments.max() <= late.moments.min()


def test_intervals_alike_within_and_different_between_make_a_gain_less_sure() -> None:
    moments = np.repeat(np.arange(12), 2)
    sizes = np.where(moments % 4 < 2, 10, 100)
    traffic = Traffic.of(sizes, counts=np.full(24, 500), moments=moments)
    single = Traffic.of(sizes, counts=np.full(24, 500), ordered=False)
    cost, other = sizes.astype(float), np.full(24, 100.0)
    in_time, alone = gain_over(cost, other, traffic), gain_over(cost, other, single)
    assert in_time.share == alone.share
    assert in_time.high - in_time.low > 3 * (alone.high - alone.low)


def test_moments_that_go_back_or_have_no_order_are_refused() -> None:
    with pytest.raises(TrafficError, match="moments"):
        Traffic.of([1, 2], moments=[1, 0])
    with pytest.raises(TrafficError, match="moments"):
        Traffic.of([1, 2], moments=[0, 1], ordered=False)
