from __future__ import annotations

import json

import pytest

from compilescope.model.inductor.fx_text import parse_fx
from compilescope.model.inductor.provenance import traced_kernels

_GRAPH = parse_fx(
    """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        mm: "f32[8][1]cpu" = torch.ops.aten.mm.default(arg0_1, arg0_1)
        sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(mm)
        return (sin,)
"""
)
_MAPPINGS = {
    "postToPre": {"sin": ["y"]},
    "cppCodeToPost": {
        "extern_kernels.mm:1": ["mm"],
        "extern_kernels.mm:3": ["mm"],
        "cpp_fused_sin_0:2": ["sin"],
    },
}
_STACKS = {
    "extern_kernels.mm:1": ['  File "/home/user/train.py", line 4, in f\n    y = layer(x)\n'],
    "cpp_fused_sin_0:2": [
        '  File "/home/user/train.py", line 5, in f\n    y = act(x)\n        ^^^\n'
        '  File "/opt/lib/torch/nn/modules/activation.py", line 9, in forward\n    return x.sin()\n',
        "not a stack",
    ],
}


def test_nodes_and_lines_of_each_kernel() -> None:
    found = traced_kernels(json.dumps(_MAPPINGS), json.dumps(_STACKS), _GRAPH)
    nodes, lines = found["extern_kernels.mm"]
    assert [(n.name, n.op) for n in nodes] == [("mm", "aten.mm.default")]
    assert [(line.line, line.code) for line in lines] == [(4, "y = layer(x)")]
    nodes, lines = found["cpp_fused_sin_0"]
    assert [n.op for n in nodes] == ["aten.sin.default"]
    # the innermost frame is torch's own
    assert [(line.file, line.line, line.function) for line in lines] == [("/home/user/train.py", 5, "f")]


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"cppCodeToPost": 3, "a": 4}'])
def test_odd_texts_say_nothing(text: str | None) -> None:
    assert traced_kernels(text, text, None) == {}
