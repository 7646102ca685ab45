from __future__ import annotations

import json
from typing import Any

from compilescope.model.inductor import kinds
from compilescope.model.inductor.agreement import agreement
from compilescope.model.inductor.kernels import kernels
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.schedule import (
    fused_groups,
    parse_calls,
    parse_schedule,
    scheduled_kernels,
)


def _node(writes: list[str], reads: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    part = {"name": f"op_{writes[0]}", "reads": reads or [], "writes": writes, "bytes": 100}
    return {
        "type": "SchedulerNode",
        "ir": "ComputedBuffer",
        "template": False,
        "reduction": False,
        "device": "cuda:0",
        "bytes": 60,
        "parts": [part],
        "ops": [["mul", "aten.mul.Tensor"]],
        "lines": [[0, 12, "f"]],
        **fields,
    }


def _call(kernel: str, *args: str, triton: bool = True) -> dict[str, Any]:
    return {"line": "KernelCallLine", "kernel": kernel, "args": args, "triton": triton, "device": "cuda:0"}


def _scheduled(nodes: list[Any], calls: list[Any]) -> dict[str, Any]:
    schedule = parse_schedule({"before": 3, "after": 2}, json.dumps(nodes), lambda _: "train.py")
    return scheduled_kernels(schedule, parse_calls(json.dumps(calls)))


def test_kinds_from_the_nodes_behind_the_calls() -> None:
    nodes = [
        _node(["buf0"], template=True, ir="TritonTemplateBuffer"),
        _node(["buf1"], ["buf0"], reduction=True),
        _node(["buf2"], ["buf1"]),
        _node(["buf3"], ["buf2"], type="ForeachKernelSchedulerNode"),
        _node(["buf4"], kernel="extern_kernels.mm", ir="ExternKernelOut"),
    ]
    calls = [
        _call("triton_tem_fused_mm_0", "arg0_1", "buf0"),
        _call("triton_red_fused_sum_1", "buf0", "buf1"),
        _call("triton_poi_fused_mul_2", "buf1", "buf2"),
        _call("triton_for_fused_3", "buf2", "buf3"),
        {"line": "ExternKernelOutLine", "kernel": "extern_kernels.mm", "buffer": "buf4", "device": "cuda:0"},
        _call("triton_poi_fused_mul_2", "buf2", "buf9"),
        {"line": "str", "text": "assert_alignment(buf4, 16, 'torch.ops.aten.mm.default')"},
    ]
    found = _scheduled(nodes, calls)
    assert {k.name: (k.kind, k.launches) for k in found.values()} == {
        "triton_tem_fused_mm_0": (kinds.TEMPLATE, 1),
        "triton_red_fused_sum_1": (kinds.REDUCTION, 1),
        "triton_poi_fused_mul_2": (kinds.POINTWISE, 2),
        "triton_for_fused_3": (kinds.FOREACH, 1),
        "extern_kernels.mm": (kinds.GEMM, 1),
    }
    line = found["triton_red_fused_sum_1"].lines[0]
    assert (line.file, line.line, line.function) == ("train.py", 12, "f")


def test_a_node_whose_buffer_is_not_an_argument_goes_by_what_it_reads() -> None:
    found = _scheduled([_node(["buf7"], ["arg0_1"])], [_call("cpp_fused_copy_0", "arg0_1", triton=False)])
    assert found["cpp_fused_copy_0"].kind == kinds.CPP_LOOP
    assert [node.name for node in found["cpp_fused_copy_0"].nodes] == ["mul"]


def test_vertical_and_horizontal_groups() -> None:
    def part(name: str, reads: list[str], writes: list[str]) -> dict[str, Any]:
        return {"name": name, "reads": reads, "writes": writes, "bytes": 100}

    chain = _node(["x"], parts=[part("op0", ["a"], ["b"]), part("op1", ["b"], ["c"])])
    beside = _node(["x"], parts=[part("op2", ["a"], ["b"]), part("op3", ["a"], ["c"])])
    schedule = parse_schedule({}, json.dumps([chain, beside, _node(["y"])]), lambda _: None)
    vertical, horizontal = fused_groups(schedule)
    assert (vertical.vertical, vertical.horizontal) == (True, False)
    assert (horizontal.vertical, horizontal.horizontal) == (False, True)
    assert (vertical.bytes_before, vertical.bytes_after) == (200, 60)


def test_a_disagreement_names_both_sides() -> None:
    code = parse_output_code("def call(args):\n    extern_kernels.mm(a, b, out=buf0)\n    return (buf0, )\n")
    from_code = kernels(code, walk(code).launches, {})
    twice = [{"line": "ExternKernelOutLine", "kernel": "extern_kernels.mm", "buffer": "buf0"}] * 2
    found = agreement(from_code, _scheduled([], twice))
    assert (found.kernels, found.agreeing) == (1, 0)
    (difference,) = found.disagreements
    assert (difference.code, difference.scheduler) == ((kinds.GEMM, 1), (kinds.GEMM, 2))


def test_rows_that_are_not_rows() -> None:
    for text in (None, "", "{", "3", '[1, {"parts": 4, "ops": [[1]], "lines": [["a", "b", "c"]]}]'):
        schedule = parse_schedule({"before": True}, text, lambda _: None)
        assert schedule.before is None
        assert scheduled_kernels(schedule, parse_calls(text)) == {}
