"""Padded and split attention blocks under CUDA graphs on a real device, against eager."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.bucketing.piecewise import ATTENTION
from compilescope.ladder import BucketLadder

with warnings.catch_warnings():
    # Importing Inductor warns of torch's own use of what torch deprecates.
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore"),
]

WIDTH = 64
DIMS = {"input": {0: "n"}}
PINS = BucketLadder.pins([16, 32, 64, 128])


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch.cuda.synchronize()
    torch._dynamo.reset()


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
