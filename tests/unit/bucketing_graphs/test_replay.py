from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend
from compilescope.bucketing.graphs.sets import RECORDINGS, TOO_MANY
from compilescope.ladder import BucketLadder
from compilescope.observer import GraphRecorded, GraphSkipped

from .conftest import give_recorder

PINS = BucketLadder.pins([4, 8, 16])
ROWS = {"x": {0: "n"}}


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).tanh()


def lines(model: Any) -> dict[str, Any]:
    return {line.rung: line for line in model.backend.graphs.report().lines}


@torch.no_grad()
def test_each_rung_is_recorded_at_warm_up_largest_first(graphed: Any) -> None:
    model, recorder = graphed(Net(), PINS, ROWS)
    model.warm_up(torch.randn(7, 8), grad=False)
    events = [e for e in model.backend.events() if isinstance(e, GraphRecorded)]
    assert [event.rung for event in events] == ["16", "8", "4"]
    assert [event.replay_bytes for event in events] == [16 * 8 * 4, 8 * 8 * 4, 4 * 8 * 4]
    assert model.backend.graphs.report().buffer_bytes == 16 * 8 * 4
    for size in (16, 4, 8, 4, 5):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), model._orig_mod(x))
    assert len(recorder.made) == 3
    # Warm-up replays each once.
    assert {rung: line.replays for rung, line in lines(model).items() if rung != "dynamic"} == {
        "4": 3,
        "8": 2,
        "16": 2,
    }


@torch.no_grad()
def test_without_a_warm_up_the_first_call_records(graphed: Any) -> None:
    model, recorder = graphed(Net(), PINS, ROWS)
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), model._orig_mod(x))
    torch.testing.assert_close(model(x), model._orig_mod(x))
    assert len(recorder.made) == 1


@torch.no_grad()
def test_an_output_lasts_until_the_next_call(graphed: Any) -> None:
    model, _ = graphed(Net(), PINS, ROWS)
    model.warm_up(torch.randn(7, 8), grad=False)
    x = torch.randn(8, 8)
    first = model(x)
    torch.testing.assert_close(first, model._orig_mod(x))
    model(torch.randn(4, 8))
    assert first[4:].isnan().all()


@torch.no_grad()
def test_cloned_outputs_last(graphed: Any) -> None:
    model, _ = graphed(Net(), PINS, ROWS, clone_outputs=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    x = torch.randn(8, 8)
    first = model(x)
    model(torch.randn(4, 8))
    torch.testing.assert_close(first, model._orig_mod(x))


@torch.no_grad()
def test_copies_are_laid_out_as_what_they_copy(graphed: Any) -> None:
    """What follows a graph break was made for these strides."""

    def parts(x: torch.Tensor) -> Any:
        y = x.sin()
        return y, y[:, 2:6], y[:, ::2], y.sum(1, keepdim=True).expand(-1, 3)

    model, _ = graphed(parts, PINS, ROWS, clone_outputs=True)
    for size in (8, 4, 8):
        x = torch.randn(size, 8)
        for mine, theirs in zip(model(x), parts(x), strict=True):
            torch.testing.assert_close(mine, theirs)
            assert mine.stride() == theirs.stride()


@torch.no_grad()
def test_attributes_set_on_an_output_are_not_there_the_next_time(graphed: Any) -> None:
    model, _ = graphed(Net(), PINS, ROWS)
    x = torch.randn(8, 8)
    model(x)
    y = model(x)
    y.mine = 1
    y.t_()
    assert not hasattr(model(x), "mine")
    torch.testing.assert_close(model(x), model._orig_mod(x))


@torch.no_grad()
def test_a_step_of_the_optimizer_is_seen(graphed: Any) -> None:
    net = Net()
    model, recorder = graphed(net, PINS, ROWS)
    x = torch.randn(8, 8)
    model(x)
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(net.parameters(), lr=0.5).step()
    torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 1


@torch.no_grad()
@pytest.mark.parametrize("way", ["data", "assign", "new parameter"])
def test_a_parameter_at_a_new_address_is_recorded_again(graphed: Any, way: str) -> None:
    net = Net()
    model, recorder = graphed(net, PINS, ROWS)
    x = torch.randn(8, 8)
    model(x)
    if way == "data":
        net.linear.weight.data = torch.randn(8, 8)
    elif way == "assign":
        net.load_state_dict(Net().state_dict(), assign=True)
    else:
        net.linear.weight = torch.nn.Parameter(torch.randn(8, 8))
    torch.testing.assert_close(model(x), net(x))
    torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) <= 2 or way == "new parameter"


@torch.no_grad()
@pytest.mark.parametrize("most", [128, 5])
def test_many_layers_that_share_code_are_recorded_once_each(
    graphed: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """More than any one is recorded for when its parameters move: these stay where they are."""
    monkeypatch.setattr("compilescope.bucketing.graphs.sets.LAYERS", most)
    layers = [Net() for _ in range(RECORDINGS + 4)]
    model, recorder = graphed(lambda x, layer: layer(x), BucketLadder.pins([8]), ROWS)
    for _ in range(3):
        x = torch.randn(8, 8)
        for layer in layers:
            torch.testing.assert_close(model(x, layer), layer(x))
    (line,) = [line for line in lines(model).values() if line.rung == "8"]
    assert line.skipped is None
    assert len(recorder.made) == line.recorded == min(len(layers), most)
    assert line.replays == 3 * min(len(layers), most)
    assert dict(line.plainly) == ({} if most > 5 else {TOO_MANY: 3 * (len(layers) - most)})


@torch.no_grad()
def test_a_layer_that_is_gone_makes_room(graphed: Any) -> None:
    """Eight generations of four layers each: what has ended is not in the way of what is there."""
    model, recorder = graphed(lambda x, layer: layer(x), BucketLadder.pins([8]), ROWS)
    x = torch.randn(8, 8)
    for _ in range(8):
        layers = [Net() for _ in range(4)]
        for layer in [*layers, *layers]:
            torch.testing.assert_close(model(x, layer), layer(x))
    assert len(recorder.made) <= 32
    assert lines(model)["8"].replays == 64


@torch.no_grad()
def test_parameters_that_always_move_are_given_up(graphed: Any) -> None:
    net = Net()
    model, recorder = graphed(net, PINS, ROWS)
    x, kept = torch.randn(8, 8), []
    for _ in range(40):
        kept.append(net.linear.weight.data)
        net.linear.weight.data = torch.randn(8, 8)
        torch.testing.assert_close(model(x), net(x))
    assert len(recorder.made) == 32
    assert "32 different addresses" in lines(model)["8"].skipped


@torch.no_grad()
def test_outputs_over_a_graph_break_are_not_overwritten(graphed: Any) -> None:
    def broken(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        kept, passed = (x @ w).sin(), (x @ w).cos()
        torch._dynamo.graph_break()
        return (passed @ w).exp() + kept

    model, _ = graphed(broken, PINS, ROWS)
    w = torch.randn(8, 8) / 8
    model.warm_up(torch.randn(7, 8), w, grad=False)
    for _ in range(3):
        for size in (8, 4, 16):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x, w), broken(x, w))
    plainly = [line.plainly for line in model.backend.graphs.report().lines]
    assert not any(plainly)


@torch.no_grad()
def test_one_graph_called_twice_in_a_call(graphed: Any) -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = Net(), Net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = self.one(x)
            torch._dynamo.graph_break()
            return first + self.two(x)

    net = Twice()
    model, _ = graphed(net, PINS, ROWS)
    for _ in range(4):
        for size in (8, 4):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), net(x))


@torch.no_grad()
def test_without_bucketed_all_outputs_are_cloned() -> None:
    backend = BucketedBackend(PINS, ROWS, inner="aot_eager", cuda_graphs=True)
    recorder = give_recorder(backend)
    net = Net()
    compiled = torch.compile(net, backend=backend, dynamic=True)
    inputs = [torch.randn(size, 8) for size in (8, 4, 8, 16)]
    outputs = [compiled(x) for x in inputs]
    assert recorder.made
    for x, y in zip(inputs, outputs, strict=True):
        torch.testing.assert_close(y, net(x))


@torch.no_grad()
def test_another_thread_or_stream_runs_the_artifact(graphed: Any) -> None:
    model, recorder = graphed(Net(), PINS, ROWS)
    x = torch.randn(8, 8)
    mine = model(x)
    theirs: list[torch.Tensor] = []

    def call() -> None:
        with torch.no_grad():
            theirs.append(model(2 * x))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    recorder.stream = 8
    third = model(3 * x)
    for factor, y in ((1, mine), (2, theirs[0]), (3, third)):
        torch.testing.assert_close(y, model._orig_mod(factor * x))
    assert lines(model)["8"].plainly == (("another thread or stream uses the graphs", 2),)


@torch.no_grad()
def test_with_cloned_outputs_threads_share_the_graphs(graphed: Any) -> None:
    model, _ = graphed(Net(), PINS, ROWS, clone_outputs=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    wrong: list[int] = []

    def serve(number: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                x = torch.randn((4, 8, 16)[number], 8)
                if not torch.allclose(model(x), model._orig_mod(x), atol=1e-5):
                    wrong.append(number)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(line.replays for line in lines(model).values()) == 3 + 60


@torch.no_grad()
def test_a_recording_that_fails_leaves_the_artifact(graphed: Any, caplog: pytest.LogCaptureFixture) -> None:
    model, recorder = graphed(Net(), PINS, ROWS)
    recorder.fails = True
    x = torch.randn(8, 8)
    for _ in range(2):
        torch.testing.assert_close(model(x), model._orig_mod(x))
    skipped = [event for event in model.backend.events() if isinstance(event, GraphSkipped)]
    assert any("operation not permitted when stream is capturing" in event.reason for event in skipped)
    assert "runs without a CUDA graph" in caplog.text


def test_a_buffer_that_is_written_is_written_once_a_call(graphed: Any) -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.add_(1)
            return x * self.calls

    net = Counting()
    model, recorder = graphed(net, PINS, ROWS)
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(8, 8))
    assert recorder.made
    assert net.calls.tolist() == [3.0] * 8


def test_reset_forgets_the_recordings(graphed: Any) -> None:
    model, recorder = graphed(Net(), PINS, ROWS)
    x = torch.randn(8, 8)
    with torch.no_grad():
        model(x)
        torch._dynamo.reset()
        model.backend.reset()
        assert model.backend.graphs.report().lines == ()
        torch.testing.assert_close(model(x), model._orig_mod(x))
    assert len(recorder.made) == 2
