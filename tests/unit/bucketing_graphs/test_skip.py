"""Graphs that must not be recorded: each names its reason, and goes on giving eager's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend, bucketed
from compilescope.bucketing.graphs.skip import nodes_reason
from compilescope.bucketing.piecewise import SplitOps
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder
from compilescope.observer import GraphSkipped

PINS = BucketLadder.pins([4, 8])
ROWS = {"x": {0: "n"}}


def write(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x.sin()


def write_a_view(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:].add_(1)
    return x.sin()


def write_detached(x: torch.Tensor) -> torch.Tensor:
    x.detach().add_(1)
    return x.sin()


def branch_on_data(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "view of an input": (lambda x: x.view(-1), "a view of"),
    "detached input": (lambda x: (x.detach(), x + 1), "a view of"),
    "written": (write, "written in place"),
    "written through a view": (write_a_view, "written in place"),
    "written detached": (write_detached, "written in place"),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2)) + 1, "as_strided"),
    "size from data": (lambda x: x[x[:, 0] > 0] * 2, "comes from data"),
    "number from data": (lambda x: x * x.sum().item(), "comes from data"),
    "branch on data": (branch_on_data, "cond: its branch is chosen on the host"),
}


@pytest.mark.parametrize("inner", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", REFUSED)
@torch.no_grad()
def test_refused(graphed: Any, name: str, inner: str) -> None:
    function, reason = REFUSED[name]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        model, recorder = graphed(lambda x: function(x), PINS, ROWS, inner=inner)
        for size in (8, 4, 8):
            x = torch.randn(size, 8)
            mine, theirs = x.clone(), x.clone()
            torch.testing.assert_close(model(mine), function(theirs))
            torch.testing.assert_close(mine, theirs)
    assert not recorder.made
    told = [event.reason for event in model.backend.events() if isinstance(event, GraphSkipped)]
    assert any(reason in each for each in told), told


def test_training_by_a_compiler_that_shows_no_forward_and_backward(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, recorder = graphed(net, PINS, {"input": {0: "n"}}, inner="eager")
    model(torch.randn(8, 8)).sum().backward()
    assert net.weight.grad is not None
    assert not recorder.made
    assert not recorder.training
    assert "training: it is not compiled as one forward and one backward" in str(model.backend.graphs)


def test_gradients_enabled_and_none_wanted(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8).requires_grad_(False)
    model, recorder = graphed(net, PINS, {"input": {0: "n"}})
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), net(x))
    assert recorder.made


@torch.no_grad()
def test_an_input_that_overlaps_itself(graphed: Any) -> None:
    model, recorder = graphed(lambda x, y: x + y.sum(), PINS, ROWS)
    x, y = torch.randn(8, 8), torch.randn(1, 8).expand(3, 8)
    torch.testing.assert_close(model(x, y), x + y.sum())
    assert not recorder.made
    assert "overlaps itself" in str(model.backend.graphs)


@torch.no_grad()
def test_a_symbol_that_stays_free(graphed: Any) -> None:
    model, recorder = graphed(lambda x: x * 2, {"n": PINS}, {"x": {0: "n", 1: None}})
    for width in (8, 9):
        x = torch.randn(8, width)
        torch.testing.assert_close(model(x), x * 2)
    assert not recorder.made
    assert "free symbols" in str(model.backend.graphs)


@torch.no_grad()
def test_the_fallbacks_are_not_recorded(graphed: Any) -> None:
    model, recorder = graphed(lambda x: x * 2, PINS | BucketLadder.range(10, 20), ROWS)
    for size in (12, 30, 2):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), x * 2)
    assert not recorder.made


@torch.no_grad()
def test_without_cuda_the_device_is_the_reason() -> None:
    model = bucketed(torch.nn.Linear(8, 8), PINS, {"input": {0: "n"}}, inner="aot_eager", cuda_graphs=True)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert "8: none: not a CUDA device: input l_fn_parameters_weight_ is on cpu" in str(model.backend.graphs)


def test_two_recorders_are_one_too_many() -> None:
    with pytest.raises(UsageError, match="Inductor record graphs too"):
        BucketedBackend(PINS, ROWS, mode="reduce-overhead", cuda_graphs=True)


@pytest.mark.parametrize("op", ["all_reduce", "wait_tensor"])
def test_a_collective(op: str) -> None:
    packet = getattr(torch.ops._c10d_functional, op)
    for target in (packet, packet.default):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output((graph.call_function(target, (x,)),))
        reason = nodes_reason(torch.fx.GraphModule({}, graph), "cuda")
        assert reason == f"{op} waits for other ranks, which may not replay"


def of_nodes(*results: torch.Tensor, last_reads: int) -> torch.fx.GraphModule:
    """erf, cos, ... in a row; the last operation reads the value numbered ``last_reads``."""
    graph = torch.fx.Graph()
    values = [graph.placeholder("x")]
    values[0].meta["example_value"] = torch.empty(2, device="meta")
    for number, result in enumerate(results):
        source = values[last_reads] if number == len(results) - 1 else values[-1]
        target = torch.erf if number % 2 == 0 else torch.cos
        values.append(graph.call_function(target, (source,)))
        values[-1].meta["example_value"] = result
    graph.output((values[-1],))
    return torch.fx.GraphModule({}, graph)


def test_where_the_results_of_operators_left_out_lie() -> None:
    """The device that records is called meta here."""
    here, elsewhere = torch.empty(2, device="meta"), torch.empty(2)
    erf = SplitOps(["erf"])
    assert nodes_reason(of_nodes(elsewhere, here, last_reads=0), "meta") == "erf makes a tensor on cpu"
    assert nodes_reason(of_nodes(elsewhere, here, last_reads=0), "meta", erf) is None
    reason = nodes_reason(of_nodes(elsewhere, here, last_reads=1), "meta", erf)
    assert reason == "cos reads a tensor on cpu"
    assert nodes_reason(of_nodes(here, elsewhere, last_reads=1), "meta", erf) == "cos makes a tensor on cpu"


def test_collectives_and_branches_among_the_operators_left_out() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    body = torch.fx.symbolic_trace(lambda x: x.as_strided((2,), (1,)))
    branch = graph.get_attr("body")
    reduced = graph.call_function(torch.ops._c10d_functional.all_reduce.default, (x, "sum", "0"))
    chosen = graph.call_function(torch.ops.higher_order.cond, (True, branch, branch, (reduced,)))
    graph.output((graph.call_function(torch.cos, (chosen,)),))
    module = torch.fx.GraphModule({"body": body}, graph)
    assert nodes_reason(module, "cuda", SplitOps(["_c10d_functional::*", "cond"])) is None
    assert "cond: its branch" in str(nodes_reason(module, "cuda", SplitOps(["_c10d_functional::*"])))
    assert "waits for other ranks" in str(nodes_reason(module, "cuda", SplitOps(["cond"])))
