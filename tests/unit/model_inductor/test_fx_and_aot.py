from __future__ import annotations

from collections.abc import Callable

from compilescope.model.inductor.aot import aot_graphs, is_view
from compilescope.model.inductor.fx_text import lines_by_name, parse_fx, result_dtypes

Real = Callable[[str], str]


def test_nodes_have_layouts_lines_and_inputs(real: Real) -> None:
    graph = parse_fx(real("h200_dynamic_graph"))
    assert list(graph.inputs)[:2] == ["arg0_1", "arg1_1"]
    conv = graph.by_name()["convolution"]
    assert conv.op == "aten.convolution.default"
    assert conv.tensor is not None
    assert conv.tensor.shape == ("s77", "4", "510")
    assert conv.line is not None
    assert (conv.line.file, conv.line.line) == ("/home/user/project/cudagraph.py", 7)
    assert "unsqueeze" in conv.inputs
    assert [o.name for o in graph.outputs] == ["sum_1"]


def test_a_graph_on_one_line_and_its_comments_without_stack(real: Real) -> None:
    graph = parse_fx(real("h200_partition_graph"))
    assert list(graph.inputs) == ["arg0_1"]
    assert graph.by_name()["exp_default"].line is None
    assert graph.by_name()["div"].line is not None
    assert [o.name for o in graph.outputs] == ["add"]


def test_dynamo_names_win_over_those_of_later_graphs(real: Real) -> None:
    lines = lines_by_name(parse_fx(real("cpu_dynamo_graph")), parse_fx(real("cpu_forward_graph")))
    assert lines["matmul"].line == 9
    assert lines["cumsum"].line == 13


def test_dtypes_of_results_by_op_and_index(real: Real) -> None:
    found = result_dtypes(parse_fx(real("cpu_forward_graph")))
    assert found["aten.sort", 0] == "float32"
    assert found["aten.sort", 1] == "int64"
    assert found["aten.mm", -1] == "float32"


def test_saved_and_recomputed_of_a_training_step(real: Real) -> None:
    facts = aot_graphs(
        joint=parse_fx(real("cpu_joint_graph")),
        forward=parse_fx(real("cpu_forward_graph")),
        backward=parse_fx(real("cpu_backward_graph")),
        metadata=real("cpu_metadata"),
    )
    kinds = {saved.name: saved.kind for saved in facts.saved}
    assert kinds["primals_3"] == "input"
    assert kinds["permute"] == "alias"  # a view of an input
    assert [name for name, kind in kinds.items() if kind == "activation"] == [
        "mm",
        "amax",
        "sum_1",
        "getitem",
        "getitem_1",
        "cumsum",
    ]
    # float32: mm and cumsum [16, 32], amax and sum [16, 1], sort's values [32]; int64: its indices [32]
    assert facts.saved_bytes.value == 2 * 2048 + 2 * 64 + 128 + 256
    recomputed = [node.name for node in facts.recomputed]
    assert {"erf", "exp", "relu"} <= set(recomputed)
    assert "cumsum" not in recomputed
    assert facts.donated == 6
    assert (facts.forward_ops, facts.backward_ops) == (22, 42)
    saved_mm = next(saved for saved in facts.saved if saved.name == "mm")
    assert saved_mm.line is not None
    assert saved_mm.line.line == 9


def test_an_input_mutated_in_place(real: Real) -> None:
    facts = aot_graphs(inference=parse_fx(real("h200_dynamic_graph")), metadata=real("h200_dynamic_metadata"))
    (mutation,) = facts.mutations
    assert (mutation.input, mutation.index, mutation.in_graph) == ("arg4_1", 4, True)
    assert mutation.line is not None
    assert "buf.add_(1)" in mutation.line.code
    assert facts.aliases == ()


def test_outputs_that_alias() -> None:
    metadata = (
        "ViewAndMutationMeta(output_info=[OutputAliasInfo(output_type=<OutputType.alias_of_input: 2>,\n"
        "  raw_type=<class 'FunctionalTensor'>, base_idx=0), "
        "OutputAliasInfo(output_type=<OutputType.non_alias: 1>, raw_type=<class 'x'>, base_idx=None)])"
    )
    (alias,) = aot_graphs(inference=parse_fx(""), metadata=metadata).aliases
    assert (alias.output, alias.kind, alias.base) == (0, "alias_of_input", 0)


def test_views() -> None:
    assert is_view("aten.permute.default")
    assert not is_view("aten.mm.default")
    assert not is_view("permute")
