"""A bucketed model is a module like another: copied, saved, compiled by others, moved and switched."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend, Pad, bucketed
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder

LADDER = BucketLadder.pins([8, 16]) | BucketLadder.range(2, 24)
PADS = BucketLadder.pads([8, 16])
DIMS: Any = {"x": {0: "n"}}


class Net(torch.nn.Module):
    """With tied weights, and dropout so that train and eval differ."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 6)
        self.drop = torch.nn.Dropout(0.5)
        self.down = torch.nn.Linear(6, 6)
        self.down.weight = self.up.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.drop(self.up(x).relu()))


def served(model: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for count in model.backend.dispatch_counts():
        found[count.outcome] = found.get(count.outcome, 0) + count.count
    return {outcome: count for outcome, count in found.items() if count}


def assert_eagers(model: Any, net: Callable[..., Any], x: torch.Tensor) -> None:
    torch.testing.assert_close(model(x), net(x), rtol=1e-4, atol=1e-4)


def saved_and_loaded(model: Any) -> Any:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, saved_and_loaded], ids=["deepcopy", "save"])
def test_a_copy_has_weights_and_rungs_of_its_own(copied: Callable[[Any], Any]) -> None:
    model = bucketed(Net().eval(), PADS, DIMS, inner="aot_eager", pad=[Pad("x", 0)], fallback="eager")
    x = torch.randn(5, 6)
    with torch.no_grad():
        model.warm_up(x, grad=False)
        other = copied(model)
        for parameter in other.parameters():
            parameter.mul_(2)
        assert_eagers(model, model._orig_mod, x)
        assert_eagers(other, other._orig_mod, x)
        assert not torch.equal(model(x), other(x))
    assert other._orig_mod.up.weight is other._orig_mod.down.weight
    assert not other.training
    assert (served(model), served(other)) == ({"padded": 2}, {"padded": 2})
    assert other.backend.name != model.backend.name


def test_a_backend_alone_is_copied_too() -> None:
    only = [{"n": 8}]
    backend = BucketedBackend(BucketLadder.pins([8, 16]), DIMS, inner="eager", only=only, build="warm_up")
    again = copy.deepcopy(backend)
    assert (again.ladder, again.dims, again.options) == (backend.ladder, backend.dims, backend.options)


def test_what_an_outer_compile_traces_is_compiled_by_it() -> None:
    net = Net().eval()
    inner = bucketed(net, LADDER, DIMS, inner="aot_eager")
    outer = torch.compile(lambda x: inner(x) * 2, backend="aot_eager", fullgraph=True)
    twice = bucketed(bucketed(net, LADDER, DIMS, inner="aot_eager"), LADDER, DIMS, inner="aot_eager")
    function = bucketed(lambda x: x * 2, LADDER, DIMS, inner="aot_eager")
    through = torch.compile(lambda x: function(x) + 1, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        for size in (8, 11):
            x = torch.randn(size, 6)
            assert_eagers(outer, lambda x: net(x) * 2, x)
            assert_eagers(twice, net, x)
            assert_eagers(through, lambda x: x * 2 + 1, x)
    assert served(inner) == {}
    assert served(twice) == {"exact": 1, "range": 1}


def test_hooks_dtypes_and_modes_are_seen() -> None:
    net, delta = Net(), torch.randn(6, 6)
    net.up.register_forward_hook(lambda module, given, output: output + given[0] @ delta.to(output.dtype))
    model = bucketed(net, LADDER, DIMS, inner="aot_eager")
    assert model.training
    with torch.no_grad():
        assert not torch.equal(model(torch.ones(8, 6)), model(torch.ones(8, 6)))
        model.eval()
        assert not net.training
        assert_eagers(model, net, torch.randn(8, 6))
        model.to(torch.float64)
        assert_eagers(model, net, torch.randn(8, 6, dtype=torch.float64))
        with torch.inference_mode():
            assert_eagers(model, net, torch.randn(11, 6, dtype=torch.float64))
        net.train()
        assert model.training
    assert served(model) == {"exact": 4, "range": 1}


def test_an_exported_program() -> None:
    net = Net().eval()
    sizes = {"x": {0: torch.export.Dim("n", min=2, max=64)}}
    exported = torch.export.export(net, (torch.randn(7, 6),), dynamic_shapes=sizes)
    model = bucketed(exported.module(), LADDER, DIMS, inner="aot_eager")
    with torch.no_grad():
        assert_eagers(model, net, torch.randn(8, 6))
    assert served(model) == {"exact": 1}


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_a_model_that_dynamo_leaves_alone_is_said_to_have_no_rungs(
    layer: type[torch.nn.Module], caplog: Any
) -> None:
    net = layer(6, 6)
    model = bucketed(net, LADDER, {"input": {0: "n"}}, inner="aot_eager")
    done = model.warm_up(torch.randn(5, 6))
    assert done.compiled == 0
    assert "captured no graph" in caplog.text
    assert "allow_rnn = True" in caplog.text
    assert "nothing captured" in str(model.explain())
    torch.testing.assert_close(model(torch.ones(5, 6))[0], net(torch.ones(5, 6))[0])


@pytest.mark.parametrize(
    ("ladder", "dims", "options", "message"),
    [
        ([8, 16], DIMS, {}, r"the ladder is \[8, 16\]"),
        (LADDER, {"x": 0}, {}, "dims of 'x' is 0"),
        (LADDER, {"x": ["n"]}, {}, r"dims of 'x' is \['n'\]"),
        (LADDER, {"x": {-1: "n"}}, {}, "dims of 'x' has -1: 'n'"),
        (LADDER, {"x": {"n": 0}}, {}, "dims of 'x' has 'n': 0"),
        (LADDER, "x", {}, "dims is 'x'"),
        (LADDER, DIMS, {"build": "now"}, "build='now' is neither"),
        (LADDER, DIMS, {"fallback": "none"}, "fallback='none' is neither"),
    ],
)
def test_what_cannot_be_meant_is_said_at_once(ladder: Any, dims: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bucketed(Net(), ladder, dims, **options)
    with pytest.raises(TypeError, match="inne"):
        bucketed(Net(), LADDER, DIMS, inne="eager")
