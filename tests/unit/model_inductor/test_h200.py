"""Two graphs of an H200: what the code says, what the scheduler said, and what the device measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compilescope.model.inductor import kinds as k
from compilescope.model.inductor.agreement import agreement
from compilescope.model.inductor.fusion import fusion
from compilescope.model.inductor.fx_text import parse_fx, result_dtypes
from compilescope.model.inductor.kernels import kernels
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.memory import memory_plan
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.schedule import parse_calls, parse_schedule, scheduled_kernels

Real = Callable[[str], str]
# torch.cuda.max_memory_allocated() of one call of `chain`, less what was allocated before it
MEASURED_PEAK = 33_562_624


@pytest.mark.parametrize(("name", "count"), [("chain", 2), ("mixed", 11)])
def test_code_and_scheduler_tell_the_same_kernels(real: Real, name: str, count: int) -> None:
    code = parse_output_code(real(f"h200_{name}_code"))
    schedule = parse_schedule({}, real(f"h200_{name}_schedule.json"), lambda _: "gpu.py")
    scheduled = scheduled_kernels(schedule, parse_calls(real(f"h200_{name}_calls.json")))
    found = agreement(kernels(code, walk(code).launches, {}), scheduled)
    assert (found.kernels, found.agreeing, found.disagreements) == (count, count, ())


def test_every_kind_of_a_mixed_graph(real: Real) -> None:
    code = parse_output_code(real("h200_mixed_code"))
    found = {kernel.name: (kernel.kind, kernel.library) for kernel in kernels(code, walk(code).launches, {})}
    assert sorted(kind for kind, _ in found.values()) == sorted(
        [k.CONVOLUTION, k.ATTENTION, k.CUSTOM_OP, k.REDUCTION, *[k.PERSISTENT] * 2, *[k.POINTWISE] * 5]
    )
    assert found["extern_kernels.convolution"] == (k.CONVOLUTION, "cuDNN")
    assert found["torch.ops.aten._scaled_dot_product_cudnn_attention.default"] == (k.ATTENTION, "cuDNN")


def test_the_simulated_peak_is_the_measured_one(real: Real) -> None:
    code = parse_output_code(real("h200_chain_code"))
    plan = memory_plan(walk(code), code.hints)
    assert plan.peak_bytes.value == MEASURED_PEAK  # [4096, 4096] and [4096] in bfloat16


def test_bytes_of_a_gemm_and_its_reduction_by_hand(real: Real) -> None:
    code, graph = parse_output_code(real("h200_chain_code")), parse_fx(real("h200_chain_graph"))
    schedule = parse_schedule({}, real("h200_chain_schedule.json"), lambda _: None)
    wide, rows = 4096 * 4096 * 2, 4096 * 2
    gemm = 2 * 4096 * 1024 * 2 + wide
    for given in (schedule, None):
        found = fusion(code, walk(code, None, result_dtypes(graph)), graph, given, None)
        assert found.bytes_after is not None
        assert found.bytes_after.value == gemm + wide + rows
    assert found.bytes_eager is not None
    # relu, mul and add read and write, the sum reads
    assert found.bytes_eager.value == gemm + 7 * wide + rows
