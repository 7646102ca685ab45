"""CUDA graphs of static rungs on a real device, against eager."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

from .device import ON_A_DEVICE

pytestmark = ON_A_DEVICE

WIDTH = 64
PINS = BucketLadder.pins([16, 32, 64, 128])
ROWS = {"x": {0: "n"}}


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def rows(count: int) -> torch.Tensor:
    return torch.randn(count, WIDTH, device="cuda")


def served(model: Any, ladder: Any = PINS, dims: Any = ROWS, **options: Any) -> Any:
    return bucketed(model, ladder, dims, **({"cuda_graphs": True, "inner": "aot_eager"} | options))


def lines(model: Any) -> dict[str, Any]:
    return {line.rung: line for line in model.backend.graphs.report().lines}


def same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=2e-3, atol=2e-3)


@torch.no_grad()
@pytest.mark.parametrize("graphs", [True, "shared"])
@pytest.mark.parametrize("inner", ["inductor", "aot_eager"])
def test_every_rung_is_replayed_and_equals_eager(inner: str, graphs: Any) -> None:
    net = Net().cuda()
    model = served(net, inner=inner, cuda_graphs=graphs)
    model.warm_up(rows(7), grad=False)
    report = model.backend.graphs.report()
    assert report.recorded == 4, str(report)
    assert report.buffer_bytes == 128 * WIDTH * 4
    assert report.pool_bytes > 0
    for size in (128, 16, 64, 32, 16, 50, 128):
        x = rows(size)
        same(model(x), net(x))
    assert sum(line.replays for line in lines(model).values()) == 4 + 6


@torch.no_grad()
def test_layers_that_share_their_code_are_recorded_once_each() -> None:
    layers = [Net().cuda() for _ in range(40)]
    model = served(lambda x, layer: layer(x), BucketLadder.pins([16]))
    for _ in range(3):
        x = rows(16)
        for layer in layers:
            same(model(x, layer), layer(x))
    line = lines(model)["16"]
    assert (line.skipped, line.recorded, line.replays) == (None, 40, 120), str(model.backend.graphs)


@torch.no_grad()
def test_the_pool_is_shared_by_the_rungs() -> None:
    model = served(Net().cuda(), BucketLadder.pins([4096]), clone_outputs=True)
    model.warm_up(rows(7), grad=False)
    alone = model.backend.graphs.report().pool_bytes
    torch._dynamo.reset()
    model = served(Net().cuda(), BucketLadder.pins([4096, 4000, 3900, 3800, 3700, 3600]), clone_outputs=True)
    model.warm_up(rows(7), grad=False)
    assert model.backend.graphs.report().pool_bytes < 3 * alone


@torch.no_grad()
def test_parameters_change_in_place_and_move() -> None:
    net = Net().cuda()
    model = served(net)
    x = rows(32)
    same(model(x), net(x))
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    same(model(x), net(x))
    assert lines(model)["32"].recorded == 1
    net.load_state_dict(Net().cuda().state_dict(), assign=True)
    same(model(x), net(x))
    net.down.weight.data = torch.randn_like(net.down.weight)
    same(model(x), net(x))
    same(model(x), net(x))


@torch.no_grad()
def test_outputs_last_until_the_next_call_or_are_cloned() -> None:
    net = Net().cuda()
    x, other = rows(32), rows(32)
    model = served(net)
    first = model(x)
    model(other)
    same(first, net(other))
    cloned = served(net, clone_outputs=True)
    first = cloned(x)
    cloned(other)
    same(first, net(x))


@torch.no_grad()
def test_outputs_over_a_graph_break() -> None:
    def broken(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        kept, passed = (x @ w).sin(), (x @ w).cos()
        torch._dynamo.graph_break()
        return (passed @ w).exp() + kept

    model = served(broken)
    w = torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH
    model.warm_up(rows(7), w, grad=False)
    for _ in range(3):
        for size in (16, 128, 32):
            x = rows(size)
            same(model(x, w), broken(x, w))
    assert not any(line.plainly for line in lines(model).values())


@torch.no_grad()
def test_buffers_written_in_place_are_written_once_a_call() -> None:
    nets = [
        torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH)).cuda() for _ in "ab"
    ]
    nets[1].load_state_dict(nets[0].state_dict())
    model = served(nets[0], dims={"input": {0: "n"}})
    for size in (32, 64, 32, 16):
        x = rows(size)
        same(model(x), nets[1](x))
    for mine, theirs in zip(nets[0].buffers(), nets[1].buffers(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3)
    assert lines(model)["32"].replays == 2


@torch.no_grad()
def test_dropout_draws_anew_on_each_replay() -> None:
    net = torch.nn.Dropout(0.5).cuda()
    model = served(net, dims={"input": {0: "n"}})
    x = torch.ones(128, WIDTH, device="cuda")
    draws = [model(x).clone() for _ in range(3)]
    assert lines(model)["128"].replays == 3
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[1], draws[2])
    assert all(0.45 < (draw == 0).float().mean().item() < 0.55 for draw in draws)


@torch.no_grad()
def test_another_stream_or_thread_runs_the_artifact() -> None:
    net = Net().cuda()
    model = served(net)
    x = rows(64)
    same(model(x), net(x))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = model(2 * x)
    stream.synchronize()
    same(y, net(2 * x))
    seen: list[torch.Tensor] = []

    def call() -> None:
        with torch.no_grad():
            seen.append(model(3 * x))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    same(seen[0], net(3 * x))
    assert dict(lines(model)["64"].plainly) == {"another thread or stream uses the graphs": 2}


@torch.no_grad()
def test_the_caller_may_record_a_graph_of_their_own() -> None:
    net = Net().cuda()
    model = served(net)
    static = rows(32)
    for _ in range(3):
        model(static)
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=side):
        y = model(static)
    for _ in range(2):
        x = rows(32)
        static.copy_(x)
        graph.replay()
        same(y, net(x))


@torch.no_grad()
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x + torch.ones(WIDTH).to("cuda"), "makes a tensor on cpu"),
        (lambda x: x[x[:, 0] > 0].sum(0) + x, "size that comes from data"),
        (lambda x: x.mul_(2).sin(), "written in place"),
        (lambda x: (x.sin(), x.t())[1] if x is None else x.view(-1), "view of"),
        (lambda x: x.as_strided((4, 4), (1, 4)) + 1, "as_strided"),
    ],
)
def test_what_cannot_be_recorded_runs_as_before(function: Any, reason: str) -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        model = served(lambda x: function(x))
        for size in (16, 32, 16):
            x = rows(size)
            torch.testing.assert_close(model(x.clone()), function(x.clone()))
    assert reason in str(model.backend.graphs)


@torch.no_grad()
def test_a_recording_that_fails_leaves_the_device_usable() -> None:
    @torch.library.custom_op("compilescope_test::waits", mutates_args=())
    def waits(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()

    waits.register_fake(lambda x: torch.empty_like(x))
    model = served(lambda x: waits(x) + 1)
    x = rows(32)
    stream = torch.cuda.current_stream()
    for _ in range(3):
        same(model(x), x * x.sum() + 1)
    assert "recording failed" in lines(model)["32"].skipped
    assert torch.cuda.current_stream() == stream
    assert rows(32).isfinite().all(), "random numbers can be drawn"
    net = Net().cuda()
    after = served(net)
    same(after(x), net(x))
    assert lines(after)["32"].replays == 1


@pytest.mark.parametrize("state", [torch.no_grad, torch.inference_mode])
def test_states_have_recordings_of_their_own(state: Any) -> None:
    net = Net().cuda()
    model = served(net)
    with state(), torch.autocast("cuda", torch.bfloat16):
        for size in (32, 16, 32):
            x = rows(size)
            y = model(x)
            assert y.dtype == net(x).dtype
            torch.testing.assert_close(y, net(x), rtol=2e-2, atol=2e-2)
    assert lines(model)["32"].replays == 2


@torch.no_grad()
def test_layouts_keep_their_strides() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous().t() * 2 + x

    layouts = [
        lambda n: rows(n),
        lambda n: torch.randn(WIDTH, n, device="cuda").t(),
        lambda n: torch.randn(n, WIDTH + 3, device="cuda")[:, 1 : 1 + WIDTH],
        lambda n: torch.randn(2 * n, WIDTH, device="cuda")[::2],
    ]
    model = served(function)
    for _ in range(2):
        for layout in layouts:
            x = layout(32)
            y = model(x)
            same(y, function(x))
