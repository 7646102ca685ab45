from __future__ import annotations

from collections.abc import Callable

import pytest

from compilescope.model.inductor import kinds
from compilescope.model.inductor.crossings import crossings
from compilescope.model.inductor.fusion import eager_bytes, fusion
from compilescope.model.inductor.fx_text import parse_fx
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.values import Fusion

Real = Callable[[str], str]


def _fusion(code_text: str, graph_text: str) -> Fusion:
    code = parse_output_code(code_text)
    return fusion(code, walk(code), parse_fx(graph_text), None, 6)


def test_bytes_of_every_op_alone_and_of_what_runs(real: Real) -> None:
    """One token, bfloat16 with float32 inside: 1024 -> 4096, GELU, 4096 -> 1024, LayerNorm."""
    found = _fusion(real("h200_template_code"), real("h200_template_graph"))
    weight, wide, narrow = 4096 * 1024 * 2, 4096, 1024
    gemms = 2 * weight + (narrow + 2 * wide) * 2 + (wide + 2 * narrow) * 2
    after = gemms + 4 * narrow * 2
    # casts 2+4 and 4+2 bytes an element, four ops with one input, one with two
    gelu = (6 + 4 * 8 + 12 + 6) * wide
    # cast, var_mean, sub and mul by the row's mean and rsqrt, weight and bias (bfloat16), cast
    norm = (6 + 4 + 8 + 8 + 10 + 10 + 6) * narrow
    assert found.bytes_after is not None
    assert found.bytes_after.value == after
    assert found.bytes_eager is not None
    assert found.bytes_eager.value == pytest.approx(gemms + gelu + norm, abs=100)  # the row's few scalars
    assert (found.nodes_before, found.kernels, found.bytes_from) == (6, 3, "code")


def test_eager_bytes_by_hand() -> None:
    graph = parse_fx(
        "class G(torch.nn.Module):\n"
        '    def forward(self, x: "f32[1000][1]cpu"):\n'
        '        mul: "f32[1000][1]cpu" = torch.ops.aten.mul.Tensor(x, 2);  x = None\n'
        '        view: "f32[10, 100][100, 1]cpu" = torch.ops.aten.view.default(mul, [10, 100])\n'
        '        sum_1: "f32[10][1]cpu" = torch.ops.aten.sum.dim_IntList(view, [1])\n'
        "        return (sum_1,)\n"
    )
    assert eager_bytes(graph).value == 4000 + 4000 + 4000 + 40


def test_a_library_gemm_whose_result_only_a_pointwise_kernel_reads(real: Real) -> None:
    found = _fusion(real("h200_dynamic_code"), real("h200_dynamic_graph"))
    (missed,) = found.missed_epilogues
    assert missed.producer == "extern_kernels.mm"
    assert missed.pointwise.startswith("triton_poi_fused_addmm_convolution_relu")
    assert str(missed.saved_bytes) == "4096*s77"
    assert _fusion(real("h200_template_code"), "").missed_epilogues == ()


def test_a_result_two_kernels_read_is_not_an_epilogue_missed() -> None:
    text = (
        "triton_poi_fused_a_0 = async_compile.triton('triton_poi_fused_a_0', '''\n"
        "@triton_heuristics.pointwise(\n"
        "triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32'}},\n)\n"
        "def triton_poi_fused_a_0(in_ptr0, out_ptr0, xnumel):\n    pass\n''')\n"
        "def call(args):\n"
        "    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)\n"
        "    extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
        "    buf1 = empty_strided_cuda((8, ), (1, ), torch.float32)\n"
        "    triton_poi_fused_a_0.run(buf0, buf1, 8, stream=stream0)\n"
    )
    again = "    triton_poi_fused_a_0.run(buf0, buf2, 8, stream=stream0)\n"
    end = "    return (buf1, )\n"
    assert len(_fusion(text + end, "").missed_epilogues) == 1
    assert _fusion(text + again + end, "").missed_epilogues == ()
    assert _fusion(text + "    return (buf1, buf0, )\n", "").missed_epilogues == ()


def test_device_copies_have_their_line(real: Real) -> None:
    code = parse_output_code(real("h200_partition_code"))
    (copy,) = crossings(walk(code), parse_fx(real("h200_partition_graph")))
    assert (copy.kind, copy.detail, copy.blocking) == ("device copy", "cuda -> cpu", True)
    assert copy.size_bytes is not None
    assert copy.size_bytes.value == 64 * 64 * 4
    assert [line.line for line in copy.lines] == [15]


def test_collectives_and_item() -> None:
    text = (
        "def call(args):\n    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)\n"
        "    buf1 = torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')\n"
        "    torch.ops._c10d_functional.wait_tensor.default(buf0)\n"
        "    u0 = buf0.item()\n    return (buf0, )\n"
    )
    found = crossings(walk(parse_output_code(text)), None)
    assert [(c.kind, c.blocking) for c in found] == [(kinds.COLLECTIVE, None), ("device sync", True)]
    assert str(found[0].size_bytes) == "32"
