from __future__ import annotations

from compilescope.model.inductor.aot import aot_graphs
from compilescope.model.inductor.decompositions import decompositions
from compilescope.model.inductor.fx_text import parse_fx
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.values import FxNode, Kernel, SourceLine

_FORWARD = """class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[8, 16][16, 1]cpu", primals_2: "f32[16, 16][16, 1]cpu"):
        # File: /home/user/train.py:5 in f, code: y = x @ w
        mm: "f32[8, 16][16, 1]cpu" = torch.ops.aten.mm.default(primals_1, primals_2)
        # File: /home/user/train.py:6 in f, code: z = y.sin()
        sin: "f32[8, 16][16, 1]cpu" = torch.ops.aten.sin.default(mm)
        # File: /home/user/train.py:7 in f, code: m = z.amax(-1)
        amax: "f32[8, 1][1, 1]cpu" = torch.ops.aten.amax.default(sin, [-1], True)
        # File: /home/user/train.py:8 in f, code: r = my_op(z)
        plus_one: "f32[8, 16][16, 1]cpu" = torch.ops.mine.plus_one.default(sin)
        return (
            plus_one,  # PlainAOTOutput(idx=0)
            primals_2,  # SavedForBackwardsAOTOutput(idx=0)
            {saved}
        )
"""


def _recomputable(*names: str) -> tuple[tuple[str, ...], int | None]:
    saved = "\n            ".join(
        f"{n},  # SavedForBackwardsAOTOutput(idx={i})" for i, n in enumerate(names, 1)
    )
    found = aot_graphs(forward=parse_fx(_FORWARD.replace("{saved}", saved)))
    return found.recomputable, found.recomputable_bytes.value


def test_elementwise_and_reductions_of_what_is_kept_need_not_be_saved() -> None:
    assert _recomputable("mm", "sin", "amax") == (("sin", "amax"), 8 * 16 * 4 + 8 * 4)


def test_a_gemm_is_not_computed_again() -> None:
    assert _recomputable("mm") == ((), 0)
    # with the product gone, what follows from it cannot be had
    assert _recomputable("sin", "amax") == (("amax",), 32)


def _kernel(nodes: tuple[FxNode, ...], aten: tuple[str, ...]) -> Kernel:
    tensor = Tensor("float32", ("8",), ("1",), "cpu")
    empty = dict.fromkeys(("library", "device", "grid", "template", "bytes_moved", "nodes_from"))
    return Kernel(
        name="k",
        kind="c++ loop",
        launches=1,
        nodes=nodes,
        aten=aten,
        lines=(),
        dtypes=(),
        shapes=(tensor,),
        config={},
        size_hints={},
        epilogue=(),
        **empty,
    )


def test_what_an_operator_became_by_the_nodes_that_say_so() -> None:
    line = SourceLine("train.py", 4)
    nodes = (
        FxNode("amax", "aten.amax.default", "aten._softmax.default", line),
        FxNode("exp", "aten.exp.default", "aten._softmax.default", line),
        FxNode("exp_1", "aten.exp.default", "aten._softmax.default", line),
        FxNode("mul", "aten.mul.Tensor", "aten.mul.Tensor"),
        FxNode("permute", "aten.permute.default", "aten.t.default"),
    )
    (found,) = decompositions([_kernel(nodes, ())])
    assert (found.op, found.became, found.lines) == (
        "aten._softmax",
        {"aten.amax": 1, "aten.exp": 2},
        (line,),
    )
    assert found.exact


def test_from_the_code_only_what_is_gone_is_certain() -> None:
    nodes = (FxNode("erf", "aten.erf.default"), FxNode("amax", "aten.amax.default"))
    (found,) = decompositions([_kernel(nodes, ("aten.gelu", "aten._softmax"))])
    assert (found.op, found.became, found.exact) == (
        "aten.gelu, aten._softmax",
        {"aten.erf": 1, "aten.amax": 1},
        False,
    )
    assert decompositions([_kernel(nodes, ())]) == ()
    (twice,) = decompositions([_kernel(nodes, ("aten.gelu", "aten._softmax"))] * 2)
    assert twice.became == {"aten.erf": 2, "aten.amax": 2}


def test_views_are_no_parts_of_an_operator() -> None:
    nodes = (FxNode("reshape", "aten.reshape.default"), FxNode("exp", "aten.exp.default"))
    (found,) = decompositions([_kernel(nodes, ("aten.view", "aten.sigmoid"))])
    assert (found.op, found.became, found.exact) == ("aten.sigmoid", {"aten.exp": 1}, True)
    assert decompositions([_kernel(nodes[:1], ("aten._unsafe_view",))]) == ()
