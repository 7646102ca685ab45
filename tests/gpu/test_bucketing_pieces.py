"""Padded and split attention blocks under CUDA graphs on a real device, against eager."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.bucketing.piecewise import ATTENTION
from compilescope.ladder import BucketLadder

from .device import ON_A_DEVICE

pytestmark = ON_A_DEVICE

WIDTH = 64
DIMS = {"input": {0: "n"}}
PINS = BucketLadder.pins([16, 32, 64, 128])


def rows(count: int) -> torch.Tensor:
    return torch.randn(count, WIDTH, device="cuda", dtype=torch.bfloat16)


def lines(model: Any) -> dict[str, Any]:
    return {line.rung: line for line in model.backend.graphs.report().lines}


class Attention(torch.nn.Module):
    """A block over (tokens, width), causal."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.think = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(tokens, 3, 2, -1).permute(1, 2, 0, 3).unbind(0)
        mixed = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
        x = x + self.out(mixed[0].transpose(0, 1).reshape(tokens, width))
        return x + self.think(torch.nn.functional.gelu(x))


def blocks() -> torch.nn.Module:
    return torch.nn.Sequential(*(Attention() for _ in range(3))).to("cuda", torch.bfloat16)


def near(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=5e-2, atol=5e-2)


@torch.no_grad()
@pytest.mark.parametrize("graphs", [True, "shared"])
def test_a_padded_size_replays_the_rung_above(graphs: Any) -> None:
    net = blocks()
    pads = BucketLadder.pads([16, 64, 256])
    model = bucketed(net, pads, DIMS, pad=[Pad("input", 0)], cuda_graphs=graphs)
    model.warm_up(rows(7), grad=False)
    assert model.backend.graphs.report().recorded == 3, str(model.backend.graphs)
    for size in (3, 16, 17, 64, 200, 256, 5):
        x = rows(size)
        near(model(x), net(x))
    found = lines(model)
    assert [found[rung].replays for rung in ("<=16", "<=64", "<=256")] == [1 + 3, 1 + 2, 1 + 2]
    assert model.backend.graphs.report().recorded == 3


@torch.no_grad()
@pytest.mark.parametrize("inner", ["inductor", "aot_eager"])
def test_pieces_split_at_attention_are_recorded_together(inner: str) -> None:
    net = blocks()
    model = bucketed(net, PINS, DIMS, split_ops=ATTENTION, inner=inner, cuda_graphs=True)
    model.warm_up(rows(7), grad=False)
    assert model.backend.graphs.report().recorded == 4, str(model.backend.graphs)
    assert str(model.backend.splits[0]) == "7 pieces: 3 eager, 4 compiled, of which 3 were new"
    for size in (128, 16, 64, 50):
        x = rows(size)
        near(model(x), net(x))


def test_pieces_train_as_the_whole_graph_does() -> None:
    net = blocks()
    model = bucketed(net, PINS, DIMS, split_ops=ATTENTION)
    for size in (16, 64, 50):
        x = rows(size)
        results = []
        for each in (model, net):
            net.zero_grad()
            y = each(x)
            y.float().square().mean().backward()
            results.append([y, *(parameter.grad for parameter in net.parameters())])
        for mine, eager in zip(*results, strict=True):
            near(mine, eager)


@torch.library.custom_op("compilescope_gpu::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    """Waits for the device."""
    return x * (1 / (1 + x.float().abs().max().item()))


@scaled.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("compilescope_gpu::remember", mutates_args=("cache",))
def remember(x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    cache[: x.shape[0]] += x
    return cache[: x.shape[0]] * 1


@remember.register_fake
def _(x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def in_pieces(model: Any, ladder: Any = PINS, dims: Any = DIMS, **options: Any) -> Any:
    options = {"inner": "aot_eager", "split_ops": ATTENTION, "cuda_graphs": "pieces"} | options
    return bucketed(model, ladder, dims, **options)


@torch.no_grad()
@pytest.mark.parametrize("inner", ["inductor", "aot_eager"])
def test_a_graph_for_each_piece(inner: str) -> None:
    net = blocks()
    model = in_pieces(net, inner=inner)
    model.warm_up(rows(7), grad=False)
    report = model.backend.graphs.report()
    assert (report.recorded, report.graphs) == (4, 4 * 4), str(report)
    held = []
    for _ in range(2):
        for size in (128, 16, 64, 32, 50, 16, 128, 64):
            others = [torch.full((2**20,), torch.nan, device="cuda") for _ in range(8)]
            x = rows(size)
            near(model(x), net(x))
            del others, x
        held.append(torch.cuda.memory_allocated())
    found = lines(model)
    assert [found[rung].replays for rung in ("16", "32", "64", "128")] == [1 + 4, 1 + 2, 1 + 4, 1 + 4]
    assert model.backend.graphs.report().graphs == 4 * 4
    assert held[0] == held[1]


@torch.no_grad()
def test_the_same_random_numbers_are_not_drawn_twice() -> None:
    net = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.GELU(), torch.nn.Dropout(0.5)).cuda()
    model = in_pieces(net, split_ops=["gelu"])
    x = torch.ones(128, WIDTH, device="cuda")
    draws = [model(x).clone() for _ in range(3)]
    assert lines(model)["128"].graphs == 2
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[1], draws[2])
    assert all(0.7 < (draw == 0).float().mean().item() < 0.8 for draw in draws)


@torch.no_grad()
def test_an_operator_that_waits_for_the_device() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(scaled(x @ w)) @ w

    w = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) / 8
    options: dict[str, Any] = {"dims": {"x": {0: "n"}}, "split_ops": ["compilescope_gpu::scaled"]}
    stream = torch.cuda.current_stream()
    whole = in_pieces(lambda x, w: function(x, w), **(options | {"cuda_graphs": True}))
    pieces = in_pieces(lambda x, w: function(x, w), **options)
    for model in (whole, pieces):
        for size in (64, 16, 64):
            x = rows(size)
            near(model(x, w), function(x, w))
        assert torch.cuda.current_stream() == stream
        assert torch.randn(4, device="cuda").isfinite().all()
    assert "recording failed" in lines(whole)["64"].skipped
    assert (lines(pieces)["64"].graphs, lines(pieces)["64"].replays) == (2, 2)


@torch.no_grad()
def test_an_operator_that_multiplies_matrices_beside_pieces_that_do() -> None:
    """Each has its own workspace of cuBLAS; that of a piece lies in the pool."""
    net = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096, bias=bool(n % 2)) for n in range(6))).cuda()
    model = in_pieces(lambda x: net(x).sin() @ net[0].weight, dims={"x": {0: "n"}}, split_ops=["linear"])
    model.warm_up(torch.randn(7, 4096, device="cuda"), grad=False)
    for size in (16, 128, 16, 64):
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        others = [torch.full((2**23,), 77, dtype=torch.int32, device="cuda") for _ in range(4)]
        x = torch.randn(size, 4096, device="cuda")
        near(model(x), net(x).sin() @ net[0].weight)
        assert all(bool((each == 77).all()) for each in others)


@torch.no_grad()
def test_a_piece_that_only_makes_views_is_no_graph() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.erf(torch.erf(x.view(-1, 4, WIDTH // 4).transpose(1, 2)).transpose(1, 2)).cos()

    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*CUDA Graph is empty")
        model = in_pieces(lambda x: function(x), dims={"x": {0: "n"}}, split_ops=["erf"])
        for size in (64, 16, 64):
            x = rows(size)
            near(model(x), function(x))
    assert lines(model)["64"].graphs == 1


@torch.no_grad()
def test_an_operator_that_writes_into_an_argument_of_the_call() -> None:
    def function(x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        return remember(x.sin(), cache).cos()

    ops, dims = ["compilescope_gpu::remember"], {"x": {0: "n"}}
    model = in_pieces(lambda x, cache: function(x, cache), dims=dims, split_ops=ops)
    mine, theirs = (torch.zeros(128, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    for size in (64, 16, 64, 128):
        x = rows(size)
        near(model(x, mine), function(x, theirs))
        near(mine, theirs)
    assert lines(model)["64"].replays == 2, str(model.backend.graphs)
    # The cache is not copied.
    assert lines(model)["64"].copied_bytes == 2 * 64 * WIDTH * 2


@torch.no_grad()
def test_pads_moved_parameters_and_threads() -> None:
    net = blocks()
    pads = BucketLadder.pads([16, 64])
    model = in_pieces(net, pads, pad=[Pad("input", 0)], clone_outputs=True)
    model.warm_up(rows(7), grad=False)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def serve(first: int) -> None:
        with torch.no_grad():
            for size in range(first, first + 20, 3):
                x = rows(size)
                seen.append((model(x), net(x)))

    threads = [threading.Thread(target=serve, args=(first,)) for first in (2, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    net.load_state_dict(blocks().state_dict(), assign=True)
    serve(9)
    for mine, expected in seen:
        near(mine, expected)
    assert not any(line.plainly for line in lines(model).values()), str(model.backend.graphs)
    assert lines(model)["<=64"].recorded == 2


@pytest.mark.parametrize("state", [torch.no_grad, torch.inference_mode])
def test_pieces_under_autocast(state: Any) -> None:
    net = blocks().float()
    model = in_pieces(net)
    with state(), torch.autocast("cuda", torch.bfloat16):
        for size in (32, 16, 32):
            x = rows(size).float()
            near(model(x), net(x))
    assert lines(model)["32"].replays == 2
