"""What a training step keeps for its backward, against what stays allocated on the GPU."""

from __future__ import annotations

import pytest

from compilescope.model.inductor import compare

from .recorded import Recorded


def test_saved_bytes_are_what_stays_allocated(llama: Recorded) -> None:
    forward = [g for g in llama.report.graphs if g.aot is not None and not g.backward]
    saved = [g.aot.saved_bytes for g in forward if g.aot is not None and g.aot.saved_bytes is not None]
    assert sum(saved) == pytest.approx(llama.printed("KEPT"), rel=0.05)


def test_each_saved_activation_has_a_size_and_most_a_line(llama: Recorded) -> None:
    saved = [
        tensor
        for graph in llama.report.graphs
        if graph.aot is not None and not graph.backward
        for tensor in graph.aot.saved
        if tensor.kind == "activation"
    ]
    assert saved
    assert all(tensor.size_bytes is not None for tensor in saved)
    assert sum(tensor.line is not None for tensor in saved) >= 0.5 * len(saved)


def test_forward_and_backward_are_there_and_agree(llama: Recorded) -> None:
    assert {graph.direction for graph in llama.graphs} >= {"forward", "backward"}
    found = [a for a in (compare(s, llama.process.file) for s in llama.facts.graphs) if a is not None]
    total = sum(a.kernels for a in found)
    assert total > 20
    assert sum(a.agreeing for a in found) >= 0.98 * total
