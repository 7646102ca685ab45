"""Launches of the C++ wrapper, from a file as torch 2.13 writes it for a CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compilescope.model.inductor import AotSource, GraphSource, read_graph
from compilescope.model.inductor import kinds as k
from compilescope.model.inductor.cpp_wrapper import cpp_launches, is_cpp_wrapper
from compilescope.model.inductor.values import SourceLine

Real = Callable[[str], str]


def test_launches_in_order_with_kinds_and_lines(real: Real) -> None:
    line = SourceLine("train.py", 3)
    found = cpp_launches(real("cpu_cpp_wrapper_code"), {"y": line})
    assert [(launch.kernel, launch.kind) for launch in found] == [
        ("extern_kernels.mm", k.GEMM),
        ("cpp_fused_add_relu_0", k.CPP_LOOP),
        ("torch.ops.aten.sort_stable", k.FALLBACK),
        ("cpp_fused_mul_1", k.CPP_LOOP),
    ]
    assert found[0].lines == (line,)
    assert found[2].aten == ("aten.relu", "aten.add", "aten.sort")


def test_a_graph_says_what_is_not_read_of_it(real: Real) -> None:
    source = GraphSource((-1, 0, 0, 0), "abc", lambda: real("cpu_cpp_wrapper_code"), AotSource())
    graph = read_graph(source, lambda _: None)
    assert [kernel.launches for kernel in graph.kernels] == [1, 1, 1, 1]
    assert graph.fusion.kernels == 4
    assert graph.memory is None
    assert any("C++ wrapper" in reason for reason in graph.missing)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "call_triton_poi_fused_add_0(buf0, arg1_1, 8L, stream, kernels);",
            ("triton_poi_fused_add_0", k.POINTWISE),
        ),
        (
            "launchKernel(kernels.triton_red_fused_sum_1, grid_0.grid_x, 1, 1, 4, 0, args, stream);",
            ("triton_red_fused_sum_1", k.REDUCTION),
        ),
        (
            'AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_call_dispatcher("mine::scale", "", stack));',
            ("torch.ops.mine.scale.default", k.CUSTOM_OP),
        ),
        (
            "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_addmm_out(buf1, a, b, c));",
            ("extern_kernels.addmm", k.GEMM),
        ),
        ("AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(buf1, buf0, 0));", None),
        ("auto buf1 = std::move(buf0);  // reuse", None),
    ],
)
def test_statements(statement: str, expected: tuple[str, str] | None) -> None:
    code = f"void inductor_entry_impl(\n) {{\n    {statement}\n}}\nvoid other() {{ cpp_fused_x(); }}\n"
    assert [(x.kernel, x.kind) for x in cpp_launches(code, {})] == ([expected] if expected else [])


@pytest.mark.parametrize(
    "text", ["", "def call(args):\n    cpp_fused_0(buf0)\n", "void inductor_entry_impl("]
)
def test_other_texts_launch_nothing(text: str) -> None:
    assert cpp_launches(text, {}) == ()
    assert is_cpp_wrapper(text) == text.startswith("void")
