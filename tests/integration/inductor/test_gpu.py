"""The program for a GPU: kinds by construction, both sources of kernels, tuning, CUDA graphs by size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from compilescope.model.inductor import CompiledGraph, InductorFacts, compare, read_graph
from compilescope.model.inductor import kinds as k
from compilescope.recording import ProcessRecording

from .conftest import collected

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(scope="module")
def process(record: Callable[..., ProcessRecording]) -> ProcessRecording:
    return record("gpu")


@pytest.fixture(scope="module")
def facts(process: ProcessRecording) -> InductorFacts:
    return collected(process)


@pytest.fixture(scope="module")
def graphs(process: ProcessRecording, facts: InductorFacts) -> list[CompiledGraph]:
    return [read_graph(source, process.file) for source in facts.graphs]


def test_code_and_scheduler_agree(process: ProcessRecording, facts: InductorFacts) -> None:
    found = [a for a in (compare(source, process.file) for source in facts.graphs) if a is not None]
    total = sum(a.kernels for a in found)
    assert total > 30
    assert sum(a.agreeing for a in found) >= 0.98 * total


def test_each_kind_is_there(graphs: list[CompiledGraph]) -> None:
    found = {kernel.kind for graph in graphs for kernel in graph.kernels}
    assert found >= {k.GEMM, k.CONVOLUTION, k.ATTENTION, k.CUSTOM_OP, k.POINTWISE, k.FOREACH, k.COPY}


def test_a_winner_is_the_kernel_in_the_code(graphs: list[CompiledGraph], facts: InductorFacts) -> None:
    by_key = {graph.key: graph for graph in graphs}
    assert len(facts.autotunings) == 2
    for key, (tuning,) in facts.autotunings.items():
        assert tuning.winner is not None
        is_template = any(kernel.kind == k.TEMPLATE for kernel in by_key[key].kernels)
        assert is_template == (tuning.winner.backend == "triton")


def test_dynamic_sizes_are_recorded_again(facts: InductorFacts) -> None:
    static, dynamic = facts.cudagraphs.functions
    assert static.recordings == 1
    assert (dynamic.recordings, len(dynamic.sizes)) == (3, 3)
