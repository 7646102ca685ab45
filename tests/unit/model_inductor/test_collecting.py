"""Records in file order -> graphs: what belongs together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compilescope.model.inductor import Collector, Fact, InductorFacts, compare, read_aot, read_graph
from compilescope.model.inductor.aot import aot_graphs
from compilescope.model.inductor.fx_text import parse_fx
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.memory import memory_plan
from compilescope.model.inductor.output_code import parse_output_code

Real = Callable[[str], str]
_C = (0, 0, 0, 0)


def _fact(kind: str, text: str | None = None, c: Any = _C, rows: Any = (), **m: Any) -> Fact:
    return Fact(kind, c, m, lambda: text, None, rows)


def _collect(*facts: Fact) -> InductorFacts:
    collector = Collector()
    for fact in facts:
        collector.add(fact)
    return collector.finish()


def _training(real: Real) -> list[Fact]:
    return [
        _fact("dynamo_output_graph", real("cpu_dynamo_graph")),
        _fact("aot_joint_graph", real("cpu_joint_graph")),
        _fact("artifact", real("cpu_metadata"), name="aot_forward_graph_fw_metadata"),
        _fact("aot_forward_graph", real("cpu_forward_graph")),
        _fact("aot_backward_graph", real("cpu_backward_graph")),
        _fact("inductor_output_code", real("cpu_forward_code"), filename="/tmp/inductor/aa/caa.py"),
        _fact("artifact", '{"key": "f1", "cache_state": "miss"}', name="fx_graph_cache_miss"),
        _fact("fx_graph", i=0, code="caa", cache_key="f1", ir_nodes_pre_fusion=15),
        _fact("inductor_output_code", real("cpu_backward_code"), filename="/tmp/inductor/bb/cbb.py"),
        _fact("artifact", '{"key": "f2", "cache_state": "hit"}', name="fx_graph_cache_hit"),
        _fact("fx_graph", i=1, code="cbb", cache_key="f2", is_backward=True),
    ]


def test_forward_and_backward_of_one_compile(real: Real) -> None:
    facts = _collect(*_training(real))
    forward, backward = (read_graph(source, lambda _: None) for source in facts.graphs)
    assert (forward.direction, backward.direction) == ("forward", "backward")
    assert (forward.serial, backward.serial) == (0, 1)
    assert (forward.cached, backward.cached) == (False, True)
    assert forward.fusion.nodes_before == 15
    assert len(facts.aot) == 1
    assert read_aot(facts.aot[0][1]).saved_bytes.value == 4608
    assert any("scheduler" in reason for reason in forward.missing)
    gemm = next(k for k in forward.kernels if k.name == "extern_kernels.mm")
    assert [(line.file, line.line) for line in gemm.lines] == [("/home/user/project/train.py", 9)]
    assert compare(facts.graphs[0], lambda _: None) is None


def test_dtypes_the_code_lacks_come_from_the_graph(real: Real) -> None:
    facts = _collect(*_training(real))
    plan = read_graph(facts.graphs[0], lambda _: None).memory
    assert plan is not None
    assert plan.unsized == ()


def test_two_graphs_of_one_compile_have_their_own_aot_texts(real: Real) -> None:
    code = real("h200_dynamic_code")
    facts = _collect(
        _fact("aot_inference_graph", real("h200_dynamic_graph")),
        _fact("inductor_output_code", code),
        _fact("aot_inference_graph", real("h200_partition_graph")),
        _fact("inductor_output_code", code),
    )
    first, second = facts.graphs
    assert first.aot is not second.aot


def test_calls_of_partitions_come_before_their_schedule() -> None:
    row = json.dumps([{"line": "ExternKernelOutLine", "kernel": "extern_kernels.mm", "buffer": "buf0"}])
    facts = _collect(
        _fact("inductor_calls", row, function="partition_0"),
        _fact("inductor_schedule", "[]"),
        _fact("inductor_calls", "[]", function="call"),
        _fact("inductor_output_code", "def call(args):\n    extern_kernels.mm(a, b, out=buf0)\n"),
    )
    found = compare(facts.graphs[0], lambda _: None)
    assert found is not None
    assert (found.kernels, found.agreeing) == (1, 1)


def test_a_compile_that_failed_leaves_nothing_to_the_next() -> None:
    row = json.dumps([{"line": "ExternKernelOutLine", "kernel": "extern_kernels.mm", "buffer": "buf0"}])
    facts = _collect(
        _fact("inductor_schedule", "[]"),
        _fact("inductor_calls", row, function="call"),
        _fact("inductor_schedule", "[]"),
        _fact("inductor_calls", "[]", function="call"),
        _fact("inductor_output_code", "def call(args):\n    pass\n"),
    )
    found = compare(facts.graphs[0], lambda _: None)
    assert found is not None
    assert found.kernels == 0


def test_tunings_know_their_compile_in_their_epoch() -> None:
    args: Mapping[str, Any] = {"autotune_shape": "4x4, 4x4", "compile_id": "0/1"}
    rows = [
        ["mm_template_autotuning", 0, 2_000_000, 3, args],
        ["x"],
        "not a row",
        ["CUDAGraphNode.record", 0, 5e5],
    ]
    facts = _collect(
        _fact("reset", c=None),
        _fact("phases", c=None, rows=rows),
        _fact("triton_autotune", c=None, kernel="triton_poi_fused_0", compile="0/1", configs=[]),
        _fact("triton_autotune", c=None, kernel="Placeholder.DESCRIPTIVE_NAME", configs=[]),
    )
    ((key, (tuning,)),) = facts.autotunings.items()
    assert (key, tuning.tuning_s) == ((-1, 1, 0, 1), 2.0)
    assert [t.key for t in facts.triton_tunings] == [(-1, 1, 0, 1)]
    assert facts.cudagraphs.recording_s == 0.5


def test_an_imported_log_has_no_resets_and_no_records_of_ours() -> None:
    """Epochs come from the ids then, outcomes from their order."""
    code, later = "def call(args):\n    pass\n", (0, 0, 0, 2)
    args = {"autotune_shape": "4x4, 4x4", "compile_id": "0/0"}
    facts = _collect(
        _fact("inductor_output_code", code, c=later),
        _fact("artifact", '{"key": "f1"}', c=later, name="fx_graph_cache_hit"),
        _fact("compilation_metrics", c=later, cudagraph_skip_reason="skipping cudagraphs due to cpu device"),
        _fact("phases", c=None, rows=[["mm_template_autotuning", 0, 1e6, 3, args]]),
    )
    assert [graph.cache for graph in facts.graphs] == ["hit"]
    assert list(facts.autotunings) == [(-1, 2, 0, 0)]
    assert facts.cudagraphs.disabled_reason == "skipping cudagraphs due to cpu device"


def test_a_graph_of_compiled_autograd_is_described_by_its_code() -> None:
    code = Fact(
        "inductor_output_code", _C, {"filename": "/tmp/caa.py"}, lambda: "def call(args):\n    pass\n", 0
    )
    facts = _collect(code, _fact("fx_graph", i=7, code="caa"))
    (graph,) = facts.graphs
    assert (graph.key, graph.described["i"]) == ((0, 0, 0, 0), 7)


def test_torn_and_foreign_texts(real: Real) -> None:
    """A text cut anywhere gives what there is."""
    code, graph = real("h200_dynamic_code"), real("cpu_forward_graph")
    for cut in range(0, len(code), 397):
        parsed = parse_output_code(code[:cut])
        walked = walk(parsed)
        memory_plan(walked, parsed.hints)
        aot_graphs(forward=parse_fx(graph[: cut // 4]), backward=parse_fx(graph[cut // 4 :]))
    facts = _collect(_fact("inductor_output_code", None), _fact("fx_graph", i="x", code=3))
    assert read_graph(facts.graphs[0], lambda _: None).missing == (
        "the generated code is not in the recording",
    )


_LINES = st.sampled_from(
    [
        "def call(args):",
        "    buf0 = empty_strided_cuda((8, (",
        "    buf1 = buf0; del buf0  # reuse",
        "    del buf1",
        "    buf0 = buf0",
        "    buf2 = reinterpret_tensor(reinterpret_tensor(buf0, (4",
        "    (buf3,) = self.partitions[0](partition0_args)",
        "def partition_0(args):",
        "    (buf3,) = self.partitions[0](x)",
        "    call(args)",
        "    triton_poi_x.run(",
        "    extern_kernels.mm(a, out=)",
        "    buf9 = torch.ops.aten.sort.stable(buf0)",
        "    return (buf0, ",
        "x = async_compile.triton('x', '''",
        "''', device_str='cuda')",
    ]
)


@given(st.lists(st.one_of(_LINES, st.text(max_size=30)), max_size=30))
def test_any_code_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    parsed = parse_output_code(text)
    memory_plan(walk(parsed), parsed.hints)
    parse_fx(text)


@given(
    st.lists(
        st.builds(
            Fact,
            st.sampled_from(
                ["artifact", "phases", "fx_graph", "autotune", "cudagraph_record", "inductor_output_code"]
            ),
            st.one_of(st.none(), st.just(_C), st.lists(st.none(), max_size=4)),
            st.dictionaries(
                st.sampled_from(["name", "code", "i", "choices", "compile"]), st.text(max_size=5)
            ),
            st.just(lambda: "{"),
            st.none(),
            st.lists(st.one_of(st.integers(), st.lists(st.text(max_size=3), max_size=5)), max_size=3),
        ),
        max_size=12,
    )
)
def test_any_records_are_collected(facts: list[Fact]) -> None:
    for source in _collect(*facts).graphs:
        read_graph(source, lambda _: None)


def _bucket(event: str, c: Any = None, **m: Any) -> Fact:
    return _fact("bucket", c=c, event=event, backend="bucketed-1", **m)


def _code(real: Real, stem: str) -> Fact:
    return _fact("inductor_output_code", real("cpu_forward_code"), filename=f"/tmp/inductor/{stem}.py")


def test_what_is_compiled_before_a_rung_is_announced_belongs_to_it(real: Real) -> None:
    tuned = {"name": "mm", "inputs": [], "choices": [], "count": 0}
    facts = _collect(
        _bucket("EntryCaptured", _C, entry=3),
        _bucket("RungRefused", entry=3, rung="4"),
        _fact("autotune", **tuned),
        _code(real, "a"),
        _bucket("RungCompiled", entry=3, rung="8"),
        _code(real, "b"),
        _code(real, "c"),
        _fact("autotune", **tuned),
        _bucket("RungFailed", entry=3, rung="16"),
        _bucket("RungCompiled", entry=9, rung="of a graph nobody saw"),
        _code(real, "d"),
    )
    rungs = [graph.rung for graph in facts.graphs]
    eight, sixteen = ("bucketed-1", 3, "8"), ("bucketed-1", 3, "16")
    assert rungs == [eight, sixteen, sixteen, None]
    assert [t.rung for found in facts.autotunings.values() for t in found] == [eight, sixteen]
