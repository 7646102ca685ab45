"""Kernels of an H200 with the nodes that went into them and the configurations they were tuned among."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from compilescope.analysis import Report, build_report
from compilescope.recording import open_recording

H200 = Path(__file__).parents[3] / "fixtures" / "inductor-h200"


@cache
def report(name: str) -> Report:
    return build_report(open_recording(H200 / f"{name}.zip"))


def test_each_kernel_has_its_nodes() -> None:
    kernels = [kernel for graph in report("llama").graphs for kernel in graph.kernel_rows]
    assert len(kernels) > 20
    assert all(kernel.nodes_count >= len(kernel.nodes) for kernel in kernels)
    made = [kernel for kernel in kernels if kernel.kind.startswith(("triton", "extern"))]
    assert sum(bool(kernel.nodes) for kernel in made) >= 0.9 * len(made)
    assert all(node.op for kernel in kernels for node in kernel.nodes)


def test_configurations_of_a_triton_kernel_fastest_first() -> None:
    tuned = [k for graph in report("llama").graphs for k in graph.kernel_rows if k.tuned_count]
    assert tuned
    for kernel in tuned:
        times = [choice.time_ms for choice in kernel.tuned if choice.time_ms is not None]
        assert times == sorted(times)
        assert kernel.tuned[0].config is not None
        assert "XBLOCK" in kernel.tuned[0].config
