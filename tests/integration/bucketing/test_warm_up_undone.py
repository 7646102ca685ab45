"""A warm-up is no training step: afterwards the model is as before, whatever its forward writes."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed, undo
from compilescope.ladder import BucketLadder

LADDER = BucketLadder.pins([8, 16])
DIMS = {"x": {0: "n"}}


class Assigned(torch.nn.Module):
    """Two moving averages, one assigned and one written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("assigned", torch.zeros(4))
        self.register_buffer("written", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        self.assigned = 0.9 * self.assigned + 0.1 * y.detach().mean(0)
        self.written.mul_(0.9).add_(0.1 * y.detach().mean(0))
        return y - self.assigned - self.written


class Calibrated(torch.nn.Module):
    """Takes its scale from the first batch."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.scale is None:
            self.scale = x.detach().abs().amax()
        return x / self.scale


class Parameter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight.mul_(0.5)
        return x * self.weight


class Attributes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = True
        self.rows = [0]
        self.last: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2 if self.first else x * 3
        self.first = False
        self.rows = [7]
        self.last = y.detach()
        self.added = 1
        return y


MODELS = [Assigned, Calibrated, Parameter, Attributes]


def state(net: torch.nn.Module) -> dict[str, Any]:
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    own = {name: value for name, value in vars(net).items() if not name.startswith("_")}
    return kept | own | {f"buffer {name}": value for name, value in net._buffers.items()}


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("grad", [True, False])
def test_a_warm_up_puts_back_what_forward_wrote(make: type[torch.nn.Module], grad: bool) -> None:
    net = make()
    before, tensors = state(net), {id(each) for each in (*net.buffers(), *net.parameters())}
    model = bucketed(net, LADDER, DIMS, inner="aot_eager")
    model.warm_up(torch.randn(5, 4), grad=grad)
    after = state(net)
    assert list(after) == list(before)
    for name, value in before.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(after[name], value), name
        else:
            assert after[name] is value, name
    assert {id(each) for each in (*net.buffers(), *net.parameters())} == tensors


@pytest.mark.parametrize("make", MODELS)
def test_calls_after_it_change_the_model_as_eager_ones_do(make: type[torch.nn.Module]) -> None:
    net = make()
    eager = copy.deepcopy(net)
    model = bucketed(net, LADDER, DIMS, inner="aot_eager")
    model.warm_up(torch.randn(5, 4), grad=False)
    with torch.no_grad(), torch.compiler.set_stance("fail_on_recompile"):
        for size in (8, 16, 5):
            x = torch.randn(size, 4)
            torch.testing.assert_close(model(x), eager(x))
    torch.testing.assert_close(net.state_dict(), eager.state_dict())
    assert sum(count.count for count in model.backend.dispatch_counts()) == 3


def test_a_parameter_too_large_to_be_kept_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(undo, "KEPT_BYTES", 0)
    net = Parameter()
    with caplog.at_level(logging.WARNING), undo.side_effects_undone(net):
        net(torch.randn(5, 4))
    assert "the model writes to 1 of its own parameters ((4,))" in caplog.text
    assert torch.equal(net.weight, torch.full((4,), 0.5))


def test_nothing_is_written_where_nothing_changed() -> None:
    net = torch.nn.BatchNorm1d(4).eval()
    output = net(torch.randn(3, 4))
    versions = [each._version for each in (*net.buffers(), *net.parameters())]
    with undo.side_effects_undone(net):
        net(torch.randn(5, 4))
    assert [each._version for each in (*net.buffers(), *net.parameters())] == versions
    output.sum().backward()


def test_a_buffer_that_changes_its_shape_has_its_own_again() -> None:
    net = torch.nn.Module()
    net.register_buffer("seen", torch.arange(3.0))
    buffer = net.seen
    with undo.side_effects_undone(net):
        buffer.resize_(5).zero_()
    assert net.seen is buffer
    assert torch.equal(buffer, torch.arange(3.0))


def test_a_bound_method_is_its_modules() -> None:
    net = Assigned()
    with undo.side_effects_undone(net.forward):
        net(torch.randn(5, 4))
    assert not net.assigned.any()
    assert not net.written.any()


def test_a_lazy_module_keeps_the_parameters_it_got() -> None:
    net = torch.nn.LazyLinear(4)
    with undo.side_effects_undone(net):
        expected = net(torch.ones(2, 3))
    torch.testing.assert_close(net(torch.ones(2, 3)), expected)


def test_a_wrapper_that_sets_itself_up_has_its_buffers_again() -> None:
    class Wrapper(Assigned):
        """As fully_shard makes of a module: a class of torch's own."""

    Wrapper.__module__ = "torch.distributed.fsdp"
    net = Wrapper()
    net.is_set_up = None
    with undo.side_effects_undone(net):
        net(torch.randn(5, 4))
        net.is_set_up = True
    assert net.is_set_up
    assert not net.assigned.any()
    assert not net.written.any()
