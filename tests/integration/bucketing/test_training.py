"""Training through each rung equals eager: outputs, gradients, what is mutated, what aliases what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import EntryCaptured, RungCompiled, RungFailed, RungRefused

SIZES = (16, 20, 32, 16)
LADDER = BucketLadder.pins([16, 32])


@dataclass
class Case:
    function: Callable[..., Any]
    arguments: Callable[[int], Sequence[Any]]
    parameters: Sequence[torch.Tensor] = ()
    around: Callable[[], Any] = nullcontext
    tolerance: float = 1e-4


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 8)
    )


def rows(requires_grad: bool = False) -> Callable[[int], Sequence[Any]]:
    return lambda n: [torch.randn(n, 8, requires_grad=requires_grad)]


def bfloat16() -> Any:
    return torch.autocast("cpu", dtype=torch.bfloat16)


def plain() -> Case:
    net = network()
    return Case(lambda x: net(x), rows(True), list(net.parameters()))


def autocast_inside() -> Case:
    net = network()

    def f(x: torch.Tensor) -> torch.Tensor:
        with bfloat16():
            return net(x)

    return Case(f, rows(), list(net.parameters()), tolerance=0.05)


def autocast_outside() -> Case:
    net = network()
    return Case(lambda x: net(x), rows(), list(net.parameters()), bfloat16, tolerance=0.05)


def checkpointed() -> Case:
    net = network()
    return Case(lambda x: checkpoint(net, x, use_reentrant=False), rows(True), list(net.parameters()))


def parameter_as_argument() -> Case:
    weight = torch.nn.Parameter(torch.randn(8, 8))
    return Case(lambda x, w: (x @ w).tanh(), lambda n: [torch.randn(n, 8), weight], [weight])


def outputs_alias_inputs() -> Case:
    return Case(lambda x: (x.view(-1), x[1:], x * 2, x), rows())


def differentiable_alias() -> Case:
    return Case(lambda x, w: (x.t() * 1, (x @ w).view(-1)), lambda n: [*rows(True)(n), *rows(True)(8)])


def mutated_input() -> Case:
    weight = torch.nn.Parameter(torch.randn(8, 8))

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x[0].mul_(3)
        return x @ w

    return Case(f, lambda n: [torch.randn(n, 8), weight], [weight])


def derived_sizes() -> Case:
    net = network()

    def f(x: torch.Tensor) -> Any:
        y = net(x)
        z = torch.cat([y, y])
        return z[: x.shape[0] + 3].sum(0), z.view(2, x.shape[0], 8).mean(0)

    return Case(f, rows(), list(net.parameters()))


def constant_in_the_graph() -> Case:
    table = torch.randn(5, 8)
    return Case(lambda x: x + table.sum(0) + torch.tensor([1.0] * 8), rows(True))


def dropout() -> Case:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    return Case(lambda x: net(x), rows(True), list(net.parameters()))


CASES = [
    plain,
    autocast_inside,
    autocast_outside,
    checkpointed,
    parameter_as_argument,
    outputs_alias_inputs,
    differentiable_alias,
    mutated_input,
    derived_sizes,
    constant_in_the_graph,
    dropout,
]


def run(case: Case, check: Any, inner: str) -> Any:
    arguments = {name: {0: "tokens"} for name in ["x"]}
    model = bucketed(case.function, LADDER, arguments, inner=inner)
    for size in SIZES:
        with case.around():
            check(case.function, model, lambda n=size: case.arguments(n), case.parameters, case.tolerance)
    return model


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_training_equals_eager(make: Callable[[], Case], check: Any) -> None:
    model = run(make(), check, "aot_eager")
    kinds = [type(event) for event in model.backend.events()]
    assert RungRefused not in kinds
    assert RungFailed not in kinds
    counts = model.backend.dispatch_counts()
    assert sum(c.count for c in counts if c.outcome == "exact") == 3
    assert sum(c.count for c in counts if c.outcome == "dynamic") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [make for make in CASES if make is not dropout], ids=lambda make: make.__name__
)
def test_training_through_inductor_equals_eager(make: Callable[[], Case], check: Any) -> None:
    model = run(make(), check, "inductor")
    assert sum(c.count for c in model.backend.dispatch_counts() if c.outcome == "exact") == 3


def test_gradients_accumulate_over_rungs() -> None:
    net = network()
    model = bucketed(net, LADDER, {"input": {0: "tokens"}}, inner="aot_eager")
    batches = [torch.randn(n, 8) for n in (16, 20, 32)]
    gradients = []
    for function in (net, model):
        net.zero_grad()
        for k, batch in enumerate(batches):
            (function(batch).tanh().sum() * (k + 1)).backward()
        gradients.append([p.grad.clone() for p in net.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-4)


def test_batch_norm_updates_its_buffers_as_eager_does() -> None:
    def trained(wrap: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        torch._dynamo.reset()
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
        model = bucketed(net, LADDER, {"input": {0: "tokens"}}, inner="aot_eager") if wrap else net
        if wrap:
            model.warm_up(torch.randn(5, 8))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        torch.manual_seed(1)
        for size in SIZES:
            model(torch.randn(size, 8)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return [*net.parameters(), *net.buffers()]

    torch.testing.assert_close(trained(True), trained(False), rtol=1e-4, atol=1e-5)


def test_inputs_in_one_storage_one_of_them_written_are_bypassed(check: Any) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    model = bucketed(f, LADDER, {"x": {0: "tokens"}, "y": {0: "tokens"}}, inner="aot_eager")

    def overlapping() -> list[torch.Tensor]:
        base = torch.randn(20, 8)
        return [base[:16], base[2:18]]

    check(f, model, overlapping)
    (captured,) = [event for event in model.backend.events() if isinstance(event, EntryCaptured)]
    assert "shares its storage" in captured.bypassed


def test_inputs_in_one_storage_that_are_only_read_keep_their_rungs(check: Any) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    model = bucketed(f, LADDER, {"x": {0: "tokens"}, "y": {0: "tokens"}}, inner="aot_eager")
    base = torch.randn(20, 8)
    check(f, model, lambda: [base[:16], base[2:18]])
    assert sum(c.count for c in model.backend.dispatch_counts() if c.outcome == "exact") == 1


def test_an_input_reshaped_in_place_is_bypassed(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x.unsqueeze_(0)
        return x * 2

    model = bucketed(f, LADDER, {"x": {0: "tokens"}}, inner="aot_eager")
    for size in (16, 20):
        check(f, model, lambda n=size: [torch.randn(n, 8)])
    captured = [event for event in model.backend.events() if isinstance(event, EntryCaptured)]
    assert all(event.bypassed for event in captured)


def test_backward_is_compiled_with_the_rung_and_not_on_the_first_backward() -> None:
    compiled: list[bool] = []

    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        from torch._dynamo.backends.common import aot_autograd

        def forward(g: Any, _: Any) -> Any:
            compiled.append(False)
            return g.forward

        def backward(g: Any, _: Any) -> Any:
            compiled.append(True)
            return g.forward

        from functorch.compile import make_boxed_func

        return aot_autograd(
            fw_compiler=lambda g, a: make_boxed_func(forward(g, a)),
            bw_compiler=lambda g, a: make_boxed_func(backward(g, a)),
            ignore_shape_env=True,
        )(graph, list(arguments))

    net = network()
    model = bucketed(net, LADDER, {"input": {0: "tokens", 1: None}}, inner=inner)
    outputs = [model(torch.randn(n, 8)) for n in SIZES]
    before = compiled.count(True)
    for output in outputs:
        output.sum().backward()
    assert before == 3
    assert compiled.count(True) == before
    made = [event.rung for event in model.backend.events() if isinstance(event, RungCompiled)]
    assert made == ["16", "32", "dynamic"]
