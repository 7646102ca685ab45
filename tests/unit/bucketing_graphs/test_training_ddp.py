"""DistributedDataParallel around a model with graphs, and within: it reduces what a replay hands out."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from .twins import INPUT, PINS, plainly, same, trained_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not distributed.is_gloo_available(), reason="torch without gloo"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]


class Net(torch.nn.Module):
    """Large enough for Dynamo to cut it where DDP's buckets end."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.middle, self.down = (torch.nn.Linear(*s) for s in ((8, 600), (600, 600), (600, 8)))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.down(self.middle(self.up(input).relu()).relu())


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
@pytest.mark.parametrize("static_graph", [False, True])
@pytest.mark.parametrize("order", ["around", "within"])
def test_steps(graphed: Any, order: str, static_graph: bool) -> None:
    net = Net()
    twin = copy.deepcopy(net)
    if order == "around":
        model, _ = graphed(net, PINS, INPUT, fallback="eager")
        called: Any = DistributedDataParallel(model, static_graph=static_graph)
    else:
        wrapped = DistributedDataParallel(net, static_graph=static_graph, bucket_cap_mb=1)
        called, _ = graphed(wrapped, PINS, {"inputs": {0: "n"}}, fallback="eager")
        model = called
    steps = [torch.optim.SGD(each.parameters(), lr=0.001) for each in (net, twin)]
    for size in (8, 4, 8, 4, 8):
        x = torch.randn(size, 8)
        for each, step in ((called, steps[0]), (twin, steps[1])):
            step.zero_grad(set_to_none=size == 8)
            each(x).square().sum().backward()
            step.step()
        same(list(net.parameters()), list(twin.parameters()))
    lines = trained_lines(model).values()
    assert sum(each.backward_replays for each in lines) >= 5, str(model.backend.graphs)
    assert not plainly(model)
