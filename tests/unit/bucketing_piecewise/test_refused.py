"""Where a cut could change the result, the graph is compiled whole and the report says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend, bucketed
from compilescope.bucketing.piecewise import SplitOps
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder

PINS = BucketLadder.pins([4, 8])
ROWS = {"x": {0: "n"}}


def write_over_the_cut(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    z = torch.erf(x)
    y.add_(1)
    return y + z


def autocast_over_the_cut(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return torch.erf((x @ x.t()).float()) + x @ x.t()


def no_grad_over_the_cut(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = torch.erf(x.cos())
    return y * x


def size_from_data(x: torch.Tensor) -> torch.Tensor:
    return torch.erf(x[x[:, 0] > 0]) * 2


def no_such_operator(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "value written": (write_over_the_cut, "is written in place on the other side of a cut"),
    "autocast": (autocast_over_the_cut, "an autocast region reaches over a cut"),
    "grad mode": (no_grad_over_the_cut, "a change of grad mode reaches over a cut"),
    "size from data": (size_from_data, "comes from data"),
    "nothing to split at": (no_such_operator, "none of the operators to split at"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    function, reason = REFUSED[name]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        model = bucketed(lambda x: function(x), PINS, ROWS, inner="aot_eager", split_ops=[torch.erf])
        for size in (4, 8, 5):
            x = torch.randn(size, 8)
            results = []
            for each in (model, function):
                given = x.clone().requires_grad_()
                y = each(given)
                y.sum().backward()
                results.append((y, given.grad))
            for mine, eager in zip(*results, strict=True):
                torch.testing.assert_close(mine, eager, rtol=0.02, atol=0.02)
    assert {each.reason is None for each in model.backend.splits} == {False}
    assert any(reason in str(each) for each in model.backend.splits), list(map(str, model.backend.splits))


@torch.no_grad()
def test_an_input_is_written_that_another_value_is_a_view_of() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        view = x[:, 1:]
        y = torch.erf(x)
        x.add_(1)
        return view + y[:, 1:]

    model = bucketed(lambda x: function(x), PINS, ROWS, inner="aot_eager", split_ops=[torch.erf])
    for size in (4, 8, 5):
        x = torch.randn(size, 8)
        mine, theirs = x.clone(), x.clone()
        torch.testing.assert_close(model(mine), function(theirs))
        torch.testing.assert_close(mine, theirs)
    assert "shares its storage with" in str(model.backend.splits[0])


def test_an_input_may_be_written() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.erf(x + 1)
        x.mul_(2)
        return y * x

    model = bucketed(lambda x: function(x), PINS, ROWS, inner="aot_eager", split_ops=[torch.erf])
    for size in (4, 8, 5):
        x = torch.randn(size, 8)
        mine, theirs = x.clone(), x.clone()
        torch.testing.assert_close(model(mine), function(theirs))
        torch.testing.assert_close(mine, theirs)
    assert all(each.reason is None for each in model.backend.splits)


def test_an_operator_that_writes_its_result_into_an_argument() -> None:
    @torch.library.custom_op("compilescope_tests::attend", mutates_args=("out",))
    def attend(q: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(q.softmax(-1))

    def function(x: torch.Tensor) -> torch.Tensor:
        q = x.sin()
        out = torch.empty_like(q)
        attend(q, out)
        return out * 2 + x

    model = bucketed(
        lambda x: function(x), PINS, ROWS, inner="aot_eager", split_ops=["compilescope_tests::attend"]
    )
    with torch.no_grad():
        for size in (4, 8, 5):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), function(x))
    assert [str(each) for each in model.backend.splits][:1] == [
        "3 pieces: 1 eager, 2 compiled, of which 2 were new"
    ]


def test_what_names_no_operator() -> None:
    for wrong in ([""], [3], "scaled_dot_product_attention"):
        with pytest.raises(UsageError):
            BucketedBackend(PINS, ROWS, split_ops=wrong)


@pytest.mark.parametrize(
    "op",
    [
        "erf",
        "aten::erf",
        "aten.erf",
        "torch.ops.aten.erf",
        torch.erf,
        torch.ops.aten.erf,
        torch.ops.aten.erf.default,
    ],
)
def test_the_ways_to_name_an_operator(op: Any) -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    matches = SplitOps([op])
    assert matches(graph.call_function(torch.ops.aten.erf.default, (x,)))
    assert not matches(graph.call_function(torch.ops.aten.erfc.default, (x,)))
    if isinstance(op, str) or op is torch.erf:
        assert matches(graph.call_function(torch.erf, (x,)))


def test_a_whole_library() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    assert SplitOps(["aten::*"])(graph.call_function(torch.ops.aten.erf.default, (x,)))
    assert not SplitOps(["flash_attn::*"])(graph.call_function(torch.ops.aten.erf.default, (x,)))
