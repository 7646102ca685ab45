"""Longer runs: the two sources of kernels over many kinds of models, and autotuning on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compilescope.model.inductor import compare, read_graph
from compilescope.model.inductor import kinds as k
from compilescope.recording import ProcessRecording

from .conftest import collected

pytestmark = pytest.mark.slow


def test_code_and_scheduler_agree_on_nearly_all_kernels(record: Callable[..., ProcessRecording]) -> None:
    process = record("zoo")
    found = [compare(source, process.file) for source in collected(process).graphs]
    compared = [agreement for agreement in found if agreement is not None]
    total = sum(agreement.kernels for agreement in compared)
    assert total > 30
    assert sum(agreement.agreeing for agreement in compared) >= 0.98 * total


def test_candidates_of_a_gemm_on_the_cpu(record: Callable[..., ProcessRecording]) -> None:
    process = record("tuned")
    facts = collected(process)
    ((tuning,),) = facts.autotunings.values()
    assert {choice.backend for choice in tuning.choices} == {"cpp", "extern"}
    assert tuning.margin is not None
    assert tuning.margin >= 1
    assert tuning.tuning_s is not None
    graph = read_graph(facts.graphs[0], process.file)
    won = tuning.winner
    assert won is not None
    expected = k.CPP_TEMPLATE if won.backend == "cpp" else k.GEMM
    assert graph.kernels[0].kind == expected
    bypass = [outcome.bypass_reason for _, outcome in facts.caches if outcome.outcome == "bypass"]
    assert any("freezing" in (reason or "") for reason in bypass)


def test_a_choice_knows_its_node_and_its_line(record: Callable[..., ProcessRecording]) -> None:
    process = record("tuned_sizes")
    first, second = [tuning for (tuning,) in collected(process).autotunings.values()]
    assert first.shapes[0].startswith("s")  # free sizes, timed at those of the first call
    assert first.hinted[0] == "8x256"
    assert second.shapes[0] == "512x256"
    for tuning in (first, second):
        assert tuning.node is not None
        assert tuning.default is not None
        assert tuning.place is not None
        file = process.file(tuning.place[0])
        assert file is not None
        code = Path(file).read_text(encoding="utf-8").splitlines()[tuning.place[1] - 1]
        assert code.strip() == "return torch.relu(LAYER(x))"


def test_with_torchs_provenance_a_cached_cpp_kernel_has_its_lines(
    record: Callable[..., ProcessRecording], tmp_path: Path
) -> None:
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    for env, known in (({}, None), ({"INDUCTOR_PROVENANCE": "1"}, "provenance")):
        record("unfused", env={**cache, **env})
        cached = record("unfused", env={**cache, **env})
        (graph,) = [read_graph(source, cached.file) for source in collected(cached).graphs]
        assert graph.cached
        assert {kernel.nodes_from for kernel in graph.kernels} == {known}
        lines = {line.line for kernel in graph.kernels for line in kernel.lines}
        assert lines == ({9, 10, 11} if known else set())


def test_why_two_sums_stayed_apart(record: Callable[..., ProcessRecording]) -> None:
    process = record("unfused")
    (source,) = collected(process).graphs
    fusion = read_graph(source, process.file).fusion
    assert sum(fusion.unfused_reasons.values()) >= 1
    (pair,) = fusion.unfused
    assert not pair.linked
    assert {*pair.first_ops, *pair.second_ops} == {"aten.sum", "aten.mul", "aten.add"}
    assert pair.reason in fusion.unfused_reasons
    lines = [line.line for line in pair.lines]
    assert {9, 10} <= set(lines)


def test_a_reader_that_fails_costs_its_record_and_nothing_else(
    record: Callable[..., ProcessRecording],
) -> None:
    process = record("failing")
    lost = [r.x["why"] for r in process.records() if r.k == "lost"]
    for name in ("scheduler node not read", "_write_calls", "_write_unfused", "hook failed: _fails"):
        assert any(name in why for why in lost), (name, lost)
    graphs = [read_graph(source, process.file) for source in collected(process).graphs]
    assert [kernel.kind for kernel in graphs[0].kernels] == [k.CPP_LOOP]
    ((tuning,),) = collected(process).autotunings.values()
    assert (tuning.node, tuning.winner is not None) == (None, True)
