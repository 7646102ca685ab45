from __future__ import annotations

import pytest
from compare_runs import frame, graph, made

from compilescope.analysis.report import Autotuning, Choice, KernelRow
from compilescope.compare import compare


def kernel(kind: str, *ops: str, launches: int = 1, library: str | None = None, epilogue=()) -> KernelRow:
    return KernelRow(
        f"{kind}_{launches}", kind, library, launches, list(ops), [], "cpu", [], [], None, {}, None,
        list(epilogue), None,
    )  # fmt: skip


def run(*rows: KernelRow, autotune=()):
    one = graph(kernel_rows=list(rows), kernel_count=len(rows), autotune=list(autotune), direction="forward")
    return made(frames=[frame()], graphs=[one])


def tuned(winner: str, **times_ms: float | None) -> Autotuning:
    choices = [
        Choice(name, "triton" if "triton" in name else "extern", ms, ms is None)
        for name, ms in times_ms.items()
    ]
    return Autotuning(
        "mm", ["16x64", "64x64"], ["float32"], [], [], winner, None, None, choices, len(choices), 1
    )


def test_the_same_ops_by_another_kind_of_kernel():
    (change,) = compare(
        run(kernel("extern gemm", "aten.mm", library="cuBLAS")), run(kernel("triton template", "aten.mm"))
    ).kernels
    assert (change.change, change.base, change.head) == ("choice", "extern gemm (cuBLAS)", "triton template")
    assert (change.base_launches, change.head_launches) == (1, 1)


def test_new_gone_and_launched_more_often():
    base = run(kernel("triton pointwise", "aten.relu"), kernel("triton reduction", "aten.sum"))
    head = run(kernel("triton pointwise", "aten.relu", launches=3), kernel("triton pointwise", "aten.add"))
    changes = {(row.change, *row.ops) for row in compare(base, head).kernels}
    assert changes == {("launches", "aten.relu"), ("gone", "aten.sum"), ("new", "aten.add")}


def test_an_epilogue_that_is_no_longer_fused():
    base = run(kernel("c++ gemm template", "aten.mm", "aten.relu", epilogue=["relu"]))
    head = run(kernel("c++ gemm template", "aten.mm", "aten.relu"))
    (change,) = compare(base, head).kernels
    assert change.base == "c++ gemm template with relu fused in"


def test_the_order_of_ops_and_the_names_of_kernels_do_not_matter():
    base = run(kernel("c++ loop", "aten.sum", "aten.mul"))
    head = run(kernel("c++ loop", "aten.mul", "aten.sum"))
    assert compare(base, head).differs is False


def test_loops_of_a_cached_graph_have_no_ops_and_are_no_difference():
    base = run(kernel("c++ loop", "aten.sum"), kernel("c++ loop", "aten.mul"))
    head = run(kernel("c++ loop", launches=2))
    assert compare(base, head).kernels == []


def test_kernels_that_one_run_does_not_know_are_not_gone():
    assert (
        compare(run(kernel("c++ loop", "aten.sum")), made(frames=[frame()], graphs=[graph()])).kernels == []
    )


def test_another_winner():
    base = run(autotune=[tuned("mm", mm=1.0, triton_mm_3=2.0)])
    head = run(autotune=[tuned("triton_mm_9", mm=3.0, triton_mm_9=2.0)])
    (change,) = compare(base, head).choices
    assert (change.base, change.head, change.draw) == ("mm", "triton_mm", False)
    assert (change.base_backend, change.head_backend) == ("extern", "triton")
    assert (change.base_ms, change.head_ms) == (1.0, 2.0)


@pytest.mark.parametrize("times", [{"mm": 1.0, "triton_mm_0": 1.05}, {"mm": 1.05, "triton_mm_0": 1.0}])
def test_a_draw_is_no_difference(times):
    diff = compare(
        run(autotune=[tuned("mm", mm=1.0, triton_mm_0=3.0)]), run(autotune=[tuned("triton_mm_0", **times)])
    )
    assert diff.choices[0].draw is True
    assert diff.differs is False


def test_a_number_in_a_candidates_name_is_no_difference():
    base = run(autotune=[tuned("triton_mm_3", triton_mm_3=1.0)])
    head = run(autotune=[tuned("triton_mm_8", triton_mm_8=1.0)])
    assert compare(base, head).choices == []
