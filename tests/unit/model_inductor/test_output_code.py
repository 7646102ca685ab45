from __future__ import annotations

from collections.abc import Callable

from compilescope.model.inductor import kinds
from compilescope.model.inductor.kernels import kernels
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.values import Kernel

Real = Callable[[str], str]


def _kernels(text: str) -> tuple[Kernel, ...]:
    code = parse_output_code(text)
    return kernels(code, walk(code).launches, {})


def test_a_template_with_its_epilogue_one_without_and_a_reduction(real: Real) -> None:
    first, second, norm = _kernels(real("h200_template_code"))
    assert [k.kind for k in (first, second, norm)] == [kinds.TEMPLATE, kinds.TEMPLATE, kinds.PERSISTENT]
    assert (first.template, second.template, norm.template) == ("addmm", "addmm", None)
    assert first.epilogue == ("prims.convert_element_type", "aten.mul", "aten.erf", "aten.add")
    assert second.epilogue == ()
    assert first.grid == "32 x 1 x 1"
    assert {k: first.config[k] for k in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_stages", "num_warps")} == {
        "BLOCK_M": "16",
        "BLOCK_N": "128",
        "BLOCK_K": "128",
        "num_stages": "4",
        "num_warps": "4",
    }
    assert norm.size_hints == {"x": "1", "r0_": "1024"}
    assert norm.grid == "Grid1D"
    assert "aten.native_layer_norm" in norm.aten


def test_bytes_of_a_gemm_are_its_operands(real: Real) -> None:
    first, second, norm = _kernels(real("h200_template_code"))
    bias, activation, weight, out = 4096 * 2, 1024 * 2, 1024 * 4096 * 2, 4096 * 2
    assert str(first.bytes_moved) == str(bias + activation + weight + out)
    assert str(second.bytes_moved) == str(1024 * 2 + 4096 * 2 + weight + 1024 * 2)
    assert str(norm.bytes_moved) == str(4 * 1024 * 2)  # in place: read and written; scale and shift


def test_partitions_stand_where_they_are_called(real: Real) -> None:
    launches = walk(parse_output_code(real("h200_partition_code"))).launches
    assert [(x.kernel.split("_fused")[0], x.kind, x.function) for x in launches] == [
        ("extern_kernels.mm", kinds.GEMM, "partition_0"),
        ("triton_per", kinds.PERSISTENT, "partition_0"),
        ("copy_", kinds.COPY, "call"),
        ("cpp", kinds.CPP_LOOP, "call"),
    ]


def test_sizes_stay_symbols_and_the_example_gives_their_values(real: Real) -> None:
    code = parse_output_code(real("h200_dynamic_code"))
    assert code.hints["s77"] == 16
    assert (code.aot_id, code.direction) == (1, "inference")
    gemm, pointwise, conv, reduction, mutation = _kernels(real("h200_dynamic_code"))
    assert [k.kind for k in (gemm, pointwise, conv, reduction, mutation)] == [
        kinds.GEMM,
        kinds.POINTWISE,
        kinds.CONVOLUTION,
        kinds.PERSISTENT,
        kinds.POINTWISE,
    ]
    assert (gemm.library, conv.library) == ("cuBLAS", "cuDNN")
    assert str(gemm.bytes_moved) == "4096*s77 + 1048576"
    # input [s, 1, 512], weight [4, 1, 3], result [s, 4, 510], all float32
    assert conv.bytes_moved is not None
    assert conv.bytes_moved.at({"s77": 10}) == (10 * 512 + 12 + 10 * 4 * 510) * 4


def test_cpu_code_of_a_forward(real: Real) -> None:
    found = {k.name.split("_0")[0]: k for k in _kernels(real("cpu_forward_code"))}
    assert {k.kind for k in found.values()} == {kinds.GEMM, kinds.CPP_LOOP, kinds.CUSTOM_OP, kinds.FALLBACK}
    assert found["torch.ops.project.foo.default"].kind == kinds.CUSTOM_OP
    assert found["torch.ops.aten.sort.stable"].kind == kinds.FALLBACK
    assert sum(k.launches for k in found.values()) == 7


def test_kinds_of_extern_functions() -> None:
    assert kinds.of_extern("extern_kernels.bmm") == kinds.GEMM
    assert kinds.of_extern("torch.ops.mkl._mkl_linear.default") == kinds.GEMM
    assert kinds.of_extern("torch.ops.aten._scaled_dot_product_flash_attention.default") == kinds.ATTENTION
    assert kinds.of_extern("torch.ops.aten.convolution_backward.default") == kinds.CONVOLUTION
    assert kinds.of_extern("torch.ops._c10d_functional.all_reduce_.default") == kinds.COLLECTIVE
    assert kinds.of_extern("torch.ops._c10d_functional.wait_tensor.default") == kinds.COLLECTIVE_WAIT
    assert kinds.of_extern("torch.ops.my_ops.attention.default") == kinds.CUSTOM_OP
    assert kinds.library_of("torch.ops.mkldnn._linear_pointwise", kinds.GEMM, "cpu") == "oneDNN"


def test_a_kernel_without_inductors_prefix_is_the_users() -> None:
    text = (
        "my_kernel_0 = async_compile.triton('my_kernel', '''\n@triton_heuristics.user_autotune(\n"
        "    triton_meta={'signature': {'x_ptr': '*fp32', 'n': 'i32'}},\n"
        "    inductor_meta={'mutated_arg_names': ['x_ptr']},\n)\ndef my_kernel(x_ptr, n):\n    pass\n''')\n"
        "def call(args):\n    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)\n"
        "    my_kernel_0.run(buf0, 8, stream=stream0)\n    return (buf0, )\n"
    )
    (kernel,) = _kernels(text)
    assert (kernel.kind, str(kernel.bytes_moved)) == (kinds.USER_TRITON, "64")
