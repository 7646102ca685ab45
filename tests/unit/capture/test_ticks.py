"""Counts on disk: cumulative, only what changed, right after a fork, and no oftener than needed."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from compilescope.capture._buckets import Buckets
from compilescope.capture._eager_calls import EagerCalls
from compilescope.capture._fx_graphs import FxGraphs
from compilescope.capture._graphs import Graphs, counting
from compilescope.capture._stacks import Stacks
from compilescope.capture._ticks import CEILING_S, LONGEST_S, SHORTEST_S, Ticks
from compilescope.capture._trace import TraceHandler


class Counting:
    """What a ticking session counts, without a compiler."""

    def __init__(self, written: Any) -> None:
        session = written.session
        stacks = Stacks(session.writer, str(Path(torch.__file__).parent))
        self.trace = TraceHandler(session, stacks)
        self.graphs = Graphs(session, stacks)
        self.eager = EagerCalls(session)
        self.ticks = Ticks(session, self.graphs, FxGraphs(session), Buckets(session), self.eager, self.trace)

    def graph(self, sizes: list[str] | None = None) -> Any:
        counter = self.graphs.adopt((0, 0, 0, 0), {"sizes": sizes or []})
        return counting(lambda *args: args, counter, [0] if sizes else [])


@pytest.fixture
def on(written: Any) -> Counting:
    return Counting(written)


def _rows(written: Any, key: str) -> list[Any]:
    return [r.x.get(key) for r in written.records("runs")]


def test_a_snapshot_is_cumulative_and_names_only_what_changed(on: Counting, written: Any) -> None:
    first, second = on.graph(), on.graph(["s0"])
    first(), second(4), second(4), second(8)
    on.ticks.snapshot()
    first()
    on.ticks.snapshot()
    on.ticks.snapshot()
    assert _rows(written, "g") == [[[0, 1, None], [1, 3, {"4": 2, "8": 1}]], [[0, 2, None]]]


def test_nothing_counted_is_nothing_written(on: Counting, written: Any) -> None:
    on.graph()
    on.ticks.snapshot()
    assert _rows(written, "g") == []


def test_eager_calls_are_in_the_snapshot(on: Counting, written: Any) -> None:
    on.eager.counts[5] = 2
    on.ticks.snapshot()
    assert _rows(written, "e") == [[[5, 2]]]


def test_a_count_taken_back_to_zero_is_taken_back_on_disk(on: Counting, written: Any) -> None:
    on.eager.counts[5] = 1
    on.ticks.snapshot()
    on.eager.counts[5] = 0
    on.ticks.snapshot()
    assert _rows(written, "e") == [[[5, 1]], [[5, 0]]]


def test_a_forked_child_counts_from_zero_and_names_graphs_it_inherited(on: Counting, written: Any) -> None:
    kept, idle = on.graph(), on.graph()
    kept(), idle()
    on.ticks.snapshot()
    on.ticks.forked()
    kept()
    on.ticks.snapshot()
    kept()
    on.ticks.snapshot()
    assert _rows(written, "g")[1:] == [[[0, 1, None]], [[0, 2, None]]]
    inherited = [r.m["g"] for r in written.records("graph") if r.m.get("inherited")]
    assert inherited == [0]


def test_the_thread_writes_by_itself_and_is_not_seen_by_the_program(on: Counting, written: Any) -> None:
    before = threading.enumerate()
    run = on.graph()
    on.ticks.start()
    on.ticks.start()
    run()
    deadline = time.monotonic() + 10
    while not written.folder.exists() or not written.records("runs"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert threading.enumerate() == before
    on.ticks.stop()


def test_what_is_open_is_written_when_it_changes(on: Counting, written: Any) -> None:
    on.trace._phases.feed({"name": "inductor", "ph": "B", "ts": 1e6}, 7)
    on.ticks._open_phases()
    on.ticks._open_phases()
    on.trace._phases.feed({"name": "codegen", "ph": "B", "ts": 2e6}, 7)
    on.ticks._open_phases()
    stacks = [r.stack for r in written.records("open")]
    assert stacks == [[["inductor", 1000000]], [["inductor", 1000000], ["codegen", 2000000]]]


@pytest.mark.parametrize(
    ("age_s", "last_bytes", "interval_s"),
    [(0, 0, SHORTEST_S), (100, 0, 1.0), (1e6, 0, LONGEST_S), (0, 40_000, 10.0), (0, 10**9, CEILING_S)],
)
def test_the_interval_grows_with_age_and_size(
    on: Counting, age_s: float, last_bytes: int, interval_s: float
) -> None:
    on.ticks._started = time.monotonic() - age_s
    on.ticks._last_bytes = last_bytes
    assert on.ticks._interval() == pytest.approx(interval_s, abs=0.01)
