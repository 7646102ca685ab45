"""Device copies and reads of a scalar, from code as Inductor writes it for a GPU."""

from __future__ import annotations

import pytest

from compilescope.model.inductor.crossings import crossings
from compilescope.model.inductor.fx_text import parse_fx
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.values import FxNode, SourceLine

CODE = """
class Runner:
    def call(self, args):
        arg0_1, = args
        args.clear()
        assert_size_stride(arg0_1, (8, ), (1, ))
        buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
        triton_poi_fused_mul_0.run(arg0_1, buf0, 8, stream=stream0)
        buf1 = empty_strided_cpu{pinned}((8, ), (1, ), torch.float32)
        buf1.copy_(buf0, {blocking})
        u0 = buf0.item()
        torch.ops.mine.log.default(buf0)
        torch.ops.mine.log.default(buf1)
        buf2 = empty_strided_cpu((8, ), (1, ), torch.float32)
        cpp_fused_add_1(buf1, buf2)
        return (buf2, )

def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((8, ), (1, ), device='cuda:0', dtype=torch.float32)
    return [arg0_1]
"""
GRAPH = parse_fx(
    """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cuda:0"):
        # File: /home/user/train.py:5 in f, code: y = (x * 2).cpu()
        mul: "f32[8][1]cuda:0" = torch.ops.aten.mul.Tensor(arg0_1, 2)
        device_put: "f32[8][1]cpu" = torch.ops.prims.device_put.default(mul, device(type='cpu'))
        # File: /home/user/train.py:6 in f, code: n = x.sum().item()
        _local_scalar_dense: "Sym(u0)" = torch.ops.aten._local_scalar_dense.default(mul)
        return (device_put,)
"""
)


def _found(
    pinned: str = "", blocking: str = "False", nodes: tuple[FxNode, ...] = ()
) -> list[tuple[object, ...]]:
    walked = walk(parse_output_code(CODE.format(pinned=pinned, blocking=blocking)))
    return [
        (c.kind, c.detail, c.pinned, c.blocking, [line.line for line in c.lines], c.before, c.after)
        for c in crossings(walked, GRAPH, nodes)
    ]


@pytest.mark.parametrize(
    ("pinned", "blocking", "expected"),
    [("", "False", (False, True)), ("_pinned", "True", (True, False))],
)
def test_a_copy_says_whether_it_waits_and_from_which_memory(
    pinned: str, blocking: str, expected: tuple[bool, bool]
) -> None:
    copy = _found(pinned, blocking)[0]
    assert copy[:5] == ("device copy", "cuda -> cpu", *expected, [5])
    assert copy[5] == "triton_poi_fused_mul_0"


def test_reading_a_scalar_waits_for_the_device() -> None:
    assert _found()[1][:5] == ("device sync", "buf0.item()", None, True, [6])


def test_calls_of_one_operator_have_their_own_lines_in_order() -> None:
    nodes = tuple(
        FxNode(name, "mine.log.default", None, SourceLine("train.py", line))
        for name, line in (("log_10", 9), ("log_2", 8))
    )
    assert [row[4] for row in _found(nodes=nodes)[2:]] == [[8], [9]]
    assert [row[6] for row in _found(nodes=nodes)[2:]] == ["torch.ops.mine.log.default", "cpp_fused_add_1"]
