from __future__ import annotations

from collections.abc import Callable

from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.memory import memory_plan
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.values import MemoryPlan

Real = Callable[[str], str]


def _plan(text: str) -> MemoryPlan:
    code = parse_output_code(text)
    return memory_plan(walk(code), code.hints)


def _call(*lines: str) -> str:
    return "def call(args):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


def test_two_buffers_alive_one_after_the_other_dead() -> None:
    plan = _plan(
        _call(
            "buf0 = empty_strided_cuda((256, ), (1, ), torch.float32)",
            "extern_kernels.mm(arg0_1, arg1_1, out=buf0)",
            "buf1 = empty_strided_cuda((512, ), (1, ), torch.float32)",
            "extern_kernels.mm(buf0, arg1_1, out=buf1)",
            "del buf0",
            "buf2 = empty_strided_cuda((128, ), (1, ), torch.float32)",
            "extern_kernels.mm(buf1, arg1_1, out=buf2)",
            "del buf1",
            "return (buf2, )",
        )
    )
    assert (plan.allocations, plan.reuses, plan.frees) == (3, 0, 2)
    assert plan.allocated_bytes.value == 4 * (256 + 512 + 128)
    assert plan.peak_bytes.value == 4 * (256 + 512)
    assert [b.name for b in plan.live_at_peak] == ["buf1", "buf0"]
    assert plan.end_bytes.value == 4 * 128


def test_reuse_takes_no_memory_and_a_view_keeps_it() -> None:
    plan = _plan(
        _call(
            "buf0 = empty_strided_cpu((64, ), (1, ), torch.float32)",
            "extern_kernels.mm(arg0_1, arg1_1, out=buf0)",
            "buf1 = reinterpret_tensor(buf0, (8, 8), (8, 1), 0); del buf0  # reuse",
            "buf2 = buf1; del buf1  # reuse",
            "extern_kernels.mm(buf2, arg1_1, out=buf2)",
            "return (reinterpret_tensor(buf2, (64, ), (1, ), 0), )",
        )
    )
    assert (plan.allocations, plan.reuses, plan.frees) == (1, 2, 0)
    assert plan.peak_bytes.value == plan.end_bytes.value == 256
    assert plan.reused_bytes.value == 512


def test_the_peak_is_an_expression_where_sizes_are_symbols(real: Real) -> None:
    plan = _plan(real("h200_dynamic_code"))
    # relu's result [s, 512] and the convolution's [s, 4, 510] at once
    assert str(plan.peak_bytes) == "10208*s77"
    assert plan.peak_after == "extern_kernels.convolution"
    assert str(plan.end_bytes) == "16*s77"


def test_buffers_of_a_partition_are_freed_with_it(real: Real) -> None:
    plan = _plan(real("h200_partition_code"))
    assert plan.peak_bytes.value == 2 * 64 * 64 * 4  # the result on the device and its copy
    assert plan.end_bytes.value == 64 * 64 * 4
    assert (plan.allocations, plan.reuses) == (2, 2)


def test_real_forward_and_backward(real: Real) -> None:
    forward = _plan(real("cpu_forward_code"))
    # mm, softmax's numerator and its result (16 x 32), the row maxima and sums, the sums over rows
    assert forward.peak_bytes.value == 3 * 2048 + 2 * 64 + 128
    assert _plan(real("cpu_backward_code")).peak_bytes.value == 64 * 32 * 4 + 16 * 32 * 4


def test_what_the_code_gives_no_size_for_is_named(real: Real) -> None:
    assert _plan(real("cpu_forward_code")).unsized == (
        "buf7",
    )  # sort's indices: their dtype is nowhere in it
