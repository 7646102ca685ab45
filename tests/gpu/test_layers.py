"""Kinds, libraries, lines, bytes and crossings that are known by construction."""

from __future__ import annotations

import pytest

from compilescope.model.inductor import CompiledGraph, compare
from compilescope.model.inductor import kinds as k

from .recorded import Recorded


def _graph(layers: Recorded, kind: str) -> CompiledGraph:
    return next(g for g in layers.graphs if any(kernel.kind == kind for kernel in g.kernels))


def test_code_and_scheduler_agree(layers: Recorded) -> None:
    found = [a for a in (compare(s, layers.process.file) for s in layers.facts.graphs) if a is not None]
    assert len(found) == 5
    total = sum(a.kernels for a in found)
    assert sum(a.agreeing for a in found) >= 0.98 * total


def test_convolutions_are_cudnn(layers: Recorded) -> None:
    graph = _graph(layers, k.CONVOLUTION)
    convolutions = [kernel for kernel in graph.kernels if kernel.kind == k.CONVOLUTION]
    assert sum(kernel.launches for kernel in convolutions) == 2
    assert {kernel.library for kernel in convolutions} == {"cuDNN"}
    assert {line.line for kernel in convolutions for line in kernel.lines} == {
        layers.line("return CONVOLUTIONS(x).mean((2, 3))")
    }


def test_attention_is_flash(layers: Recorded) -> None:
    (attention,) = [x for x in _graph(layers, k.ATTENTION).kernels if x.kind == k.ATTENTION]
    assert (attention.library, attention.launches) == ("FlashAttention", 1)
    assert [line.line for line in attention.lines] == [
        layers.line("z = F.scaled_dot_product_attention(q, q, q, is_causal=True)")
    ]


def test_a_custom_op_is_opaque(layers: Recorded) -> None:
    (crossing,) = _graph(layers, k.CUSTOM_OP).crossings
    assert crossing.kind == k.CUSTOM_OP
    assert [line.line for line in crossing.lines] == [layers.line("y = plus_one(x * 3)")]
    assert crossing.size_bytes is not None
    assert crossing.size_bytes.value == 256 * 4


def test_a_copy_to_the_host(layers: Recorded) -> None:
    (crossing,) = [c for g in layers.graphs for c in g.crossings if c.kind == "device copy"]
    assert crossing.detail == "cuda -> cpu"
    assert [line.line for line in crossing.lines] == [layers.line("y = (x * 2).cpu()")]
    assert crossing.size_bytes is not None
    assert crossing.size_bytes.value == 256 * 4


def test_bytes_of_a_gemm_and_its_fused_rest(layers: Recorded) -> None:
    """4096 x 1024 x 4096 in bfloat16: x, w and the product; then the product read and 4096 sums written."""
    graph = _graph(layers, k.GEMM)
    by_hand = 2 * (4096 * 1024 + 1024 * 4096 + 4096 * 4096) + 2 * (4096 * 4096 + 4096)
    assert graph.fusion.bytes_after is not None
    assert graph.fusion.bytes_after.value == pytest.approx(by_hand, rel=0.05)
