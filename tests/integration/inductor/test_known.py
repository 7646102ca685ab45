"""One run of programs known by construction, each compiled, then loaded from the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compilescope.model.inductor import (
    CompiledGraph,
    InductorFacts,
    compare,
    nearest,
    read_aot,
    read_graph,
)
from compilescope.model.inductor import kinds as k
from compilescope.recording import ProcessRecording

from .conftest import collected

pytestmark = pytest.mark.xdist_group("inductor_known")


_PROGRAM = (Path(__file__).parent / "programs" / "known.py").read_text(encoding="utf-8").splitlines()


def _line(code: str) -> int:
    """The number of the program's line that reads so."""
    return next(i for i, line in enumerate(_PROGRAM, 1) if line.strip() == code)


@pytest.fixture(scope="module")
def process(record: Callable[..., ProcessRecording]) -> ProcessRecording:
    return record("known", "2")


@pytest.fixture(scope="module")
def facts(process: ProcessRecording) -> InductorFacts:
    return collected(process)


@pytest.fixture(scope="module")
def graphs(process: ProcessRecording, facts: InductorFacts) -> list[CompiledGraph]:
    return [read_graph(source, process.file) for source in facts.graphs]


def test_every_hook_that_can_work_here_is_installed_and_nothing_was_lost(process: ProcessRecording) -> None:
    records = list(process.records())
    hooks = [r.m["hooks"] for r in records if r.k == "process" and "hooks" in r.m][-1]
    assert hooks["inductor_schedule"] == hooks["inductor_calls"] == hooks["autotune"] == "ok"
    assert [r.x for r in records if r.k == "lost"] == []


def test_each_graph_is_there_when_compiled_and_when_cached(graphs: list[CompiledGraph]) -> None:
    directions = ["inference"] * 4 + ["forward", "backward"]
    assert [g.direction for g in graphs] == directions * 2
    assert [g.cached for g in graphs] == [False] * 6 + [True] * 6
    assert [g.serial for g in graphs] == list(range(12))
    for compiled, loaded in zip(graphs[:6], graphs[6:], strict=True):
        assert [(x.name, x.kind, x.launches, x.lines) for x in compiled.kernels] == [
            (x.name, x.kind, x.launches, x.lines) for x in loaded.kernels
        ]


def test_code_and_scheduler_agree(process: ProcessRecording, facts: InductorFacts) -> None:
    found = [compare(source, process.file) for source in facts.graphs]
    assert all(a is not None and a.agreeing == a.kernels > 0 for a in found)


def test_a_chain_is_one_kernel_that_reads_once_and_writes_once(graphs: list[CompiledGraph]) -> None:
    (kernel,) = graphs[0].kernels
    assert (kernel.kind, kernel.launches, kernel.nodes_from) == (k.CPP_LOOP, 1, "scheduler")
    assert [line.line for line in kernel.lines] == [
        _line("y = x * 2"),
        _line("y = y + 1"),
        _line("return y.relu()"),
    ]
    assert {node.op for node in kernel.nodes} == {"aten.mul.Tensor", "aten.add.Tensor", "aten.relu.default"}
    fusion = graphs[0].fusion
    assert str(fusion.bytes_eager) == str(3 * 2 * 1000 * 4)
    assert str(fusion.bytes_after) == str(2 * 1000 * 4)
    assert graphs[0].memory is not None
    assert graphs[0].memory.peak_bytes.value == 4000


def test_a_gemm_whose_relu_could_have_been_its_epilogue(graphs: list[CompiledGraph]) -> None:
    gemm, loop = graphs[2].kernels
    assert (gemm.kind, gemm.library, loop.kind) == (k.GEMM, "BLAS", k.CPP_LOOP)
    assert [line.line for line in gemm.lines] == [_line("y = x @ w")]
    assert [str(t) for t in gemm.shapes] == ["float32[8, 16]", "float32[16, 4]", "float32[8, 4]"]
    (missed,) = graphs[2].fusion.missed_epilogues
    assert (missed.producer, missed.pointwise) == (gemm.name, loop.name)
    # x and w read, y written; y read and written in place
    assert str(graphs[2].fusion.bytes_after) == str((8 * 16 + 16 * 4 + 8 * 4) * 4 + 2 * 8 * 4 * 4)


def test_a_custom_op_is_opaque_and_a_mutation_is_made_functional(
    graphs: list[CompiledGraph], facts: InductorFacts
) -> None:
    (crossing,) = graphs[3].crossings
    assert crossing.kind == k.CUSTOM_OP
    assert [line.line for line in crossing.lines] == [_line("return plus_one(x * 3)")]
    assert crossing.size_bytes is not None
    assert crossing.size_bytes.value == 400
    (mutation,) = read_aot(facts.aot[3][1]).mutations
    assert mutation.in_graph
    assert mutation.line is not None
    assert mutation.line.line == _line("counter.add_(1)")


def test_what_a_training_step_saves(graphs: list[CompiledGraph], facts: InductorFacts) -> None:
    aot = read_aot(facts.aot[4][1])
    assert [(s.name, s.kind) for s in aot.saved if s.kind == "activation"] == [("mm", "activation")]
    assert aot.saved_bytes.value == 8 * 4 * 4
    assert aot.recomputed == ()
    backward = graphs[5]
    assert [kernel.kind for kernel in backward.kernels] == [k.CPP_LOOP, k.GEMM]


def test_the_component_that_made_the_second_size_a_miss(facts: InductorFacts) -> None:
    outcomes = [o for _, o in facts.caches if o.cache == "fx_graph"]
    assert [o.outcome for o in outcomes] == ["miss"] * 6 + ["hit"] * 6
    found = nearest(outcomes[1], outcomes[:1])
    assert found is not None
    assert "example_inputs[0]" in [change.path for change in found[1]]
    change = next(c for c in found[1] if c.path == "example_inputs[0]")
    assert "1000" in change.before
    assert "1001" in change.after
