"""Times of calls on a device: sampled while a program runs, and of a captured graph at chosen sizes."""

from __future__ import annotations

import pytest
import torch

from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import placeholders, shape_env_of, symbols_of
from compilescope.bucketing.inner import InnerCompiler
from compilescope.bucketing.measure import Measured, measure
from compilescope.capture._call_times import CallTimes

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore"),
]


def test_device_events_are_read_later_and_never_waited_for() -> None:
    times = CallTimes("cuda")
    x = torch.ones(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(80):
            times.call(7, torch.mm, (x, x))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    times.call(7, torch.mm, (x, x))
    taken, median_us = times.row()["7"]
    assert taken > 10
    assert median_us > 10
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        times.call(8, torch.add, (x, x))
    assert "8" not in times.row()


def test_a_captured_graph_is_replayed_at_each_size() -> None:
    found: list[Measured] = []
    layer = torch.nn.Linear(512, 512, device="cuda", dtype=torch.bfloat16)

    def backend(module, inputs):  # type: ignore[no-untyped-def]
        holders = placeholders(module)
        compile_id = torch._guards.CompileContext.current_compile_id()
        graph = CapturedGraph.of(module, holders, inputs, shape_env_of(holders), compile_id)
        sizes = [(256,), (4096,)]
        found.append(
            measure(
                graph, InnerCompiler("inductor"), inputs, symbols_of(holders)[:1], sizes, (256,), rounds=5
            )
        )
        return module.forward

    example = torch.randn(64, 512, device="cuda", dtype=torch.bfloat16)
    torch._dynamo.mark_dynamic(example, 0)
    with torch.no_grad():
        torch.compile(lambda x: layer(x).relu(), backend=backend)(example)
    (measured,) = found
    assert measured.basis == "graph replay"
    for rows in (measured.static, measured.dynamic):
        assert [row.problem for row in rows] == [None, None]
        assert all(len(row.samples_us) == 5 and row.capture_s for row in rows)
        assert all(row.memory_bytes >= size * 512 * 2 for row, size in zip(rows, (256, 4096), strict=True))
        assert sorted(rows[0].samples_us)[2] < sorted(rows[1].samples_us)[2]
