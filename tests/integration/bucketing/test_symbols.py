"""Several symbols, symbols without a ladder, scalars, duck shapes, graphs that get no rungs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder, LadderError
from compilescope.observer import EntryCaptured, RungCompiled, RungRefused


def rungs(model: Any, kind: type = RungCompiled) -> list[str]:
    return [event.rung for event in model.backend.events() if isinstance(event, kind)]


def outcomes(model: Any) -> dict[tuple[str, str, tuple[int, ...] | None], int]:
    counts = model.backend.dispatch_counts()
    return {(c.rung, c.outcome, c.sizes): c.count for c in counts if c.count}


def attend(x: torch.Tensor) -> Any:
    return x.softmax(1).sum(2) * x.shape[0] + x.shape[1], x.reshape(x.shape[0] * x.shape[1], -1)


BATCH_BY_TOKENS = {"x": {0: "batch", 1: "tokens"}}


def test_a_ladder_each_and_their_product(check: Any) -> None:
    ladders = {"batch": BucketLadder.pins([2, 4]), "tokens": BucketLadder.pins([16, 32])}
    model = bucketed(attend, ladders, BATCH_BY_TOKENS, inner="aot_eager")
    for batch, tokens in ((2, 16), (4, 32), (4, 16), (3, 16), (2, 20)):
        check(attend, model, lambda b=batch, t=tokens: [torch.randn(b, t, 8, requires_grad=True)])
    assert rungs(model)[:4] == [f"batch={b}, tokens={t}" for b in (2, 4) for t in (16, 32)]
    assert outcomes(model)["batch=4, tokens=32", "exact", (4, 32)] == 1
    assert outcomes(model)["dynamic", "dynamic", (3, 16)] == 1
    pins = [e for e in model.backend.events() if isinstance(e, RungCompiled) and e.kind == "pin"]
    assert all(isinstance(size, int) for event in pins for layout in event.inputs for size in layout.shape)
    assert all(event.predicate == () for event in pins)


def test_a_sparse_product_leaves_the_other_symbol_free(check: Any) -> None:
    ladders = {"batch": BucketLadder.pins([4]), "tokens": BucketLadder.pins([16, 32])}
    only = [{"tokens": 16}, {"batch": 4, "tokens": 32}]
    model = bucketed(attend, ladders, BATCH_BY_TOKENS, only=only, inner="aot_eager")
    for batch, tokens in ((4, 32), (3, 16), (5, 16), (3, 32)):
        check(attend, model, lambda b=batch, t=tokens: [torch.randn(b, t, 8)])
    found = outcomes(model)
    assert found["batch=4, tokens=32", "exact", (4, 32)] == 1
    assert found["16", "exact", (3, 16)] == found["16", "exact", (5, 16)] == 1
    assert found["dynamic", "dynamic", (3, 32)] == 1


def test_a_product_over_its_budget_is_refused_at_once() -> None:
    ladders = {"batch": BucketLadder.pins(range(1, 10)), "tokens": BucketLadder.pins(range(1, 10))}
    with pytest.raises(LadderError, match="81 rungs exceed the budget of 64"):
        bucketed(attend, ladders, BATCH_BY_TOKENS)


def test_a_static_batch_leaves_the_ladder_of_the_tokens(check: Any) -> None:
    ladders = {"batch": BucketLadder.pins([1, 4]), "tokens": BucketLadder.pins([16, 32])}
    model = bucketed(attend, ladders, BATCH_BY_TOKENS, inner="aot_eager")
    for tokens in (16, 32, 20):
        check(attend, model, lambda t=tokens: [torch.randn(1, t, 8)])
    assert rungs(model) == ["batch=1, tokens=16", "batch=1, tokens=32", "dynamic"]
    refused = [event for event in model.backend.events() if isinstance(event, RungRefused)]
    assert {event.reason for event in refused} == {"batch is x.size(0) == 1 in this graph"}


def test_a_name_that_is_two_arguments(check: Any) -> None:
    def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (x * 2).sum() + mask.sum()

    dims = {"x": {0: "tokens"}, "mask": {0: "tokens"}}
    model = bucketed(f, BucketLadder.pins([16]), dims, inner="aot_eager")
    for left, right in ((16, 16), (16, 20), (20, 20)):
        check(f, model, lambda a=left, b=right: [torch.randn(a, 8), torch.randn(b)])
    assert outcomes(model)["16", "exact", (16,)] == 1


def test_names_that_dynamo_takes_for_one_symbol(check: Any) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum() * 2

    from compilescope.bucketing import BucketedBackend

    ladders = {"n": BucketLadder.pins([16, 32]), "m": BucketLadder.pins([16, 32])}
    backend = BucketedBackend(ladders, {"x": {0: "n"}, "y": {0: "m"}}, inner="aot_eager")
    compiled = torch.compile(f, backend=backend, dynamic=True)
    for n, m in ((7, 7), (16, 16), (16, 32)):
        check(f, compiled, lambda a=n, b=m: [torch.randn(a, 8), torch.randn(b, 8)])
    refused = [
        event.rung for event in backend.events() if isinstance(event, RungRefused) and event.entry == 0
    ]
    assert refused == ["n=16, m=32", "n=32, m=16"]
    exact = {(c.entry, c.rung) for c in backend.dispatch_counts() if c.outcome == "exact" and c.count == 1}
    assert exact == {(0, "n=16, m=16"), (1, "n=16, m=32")}


@pytest.mark.parametrize("inner", ["aot_eager", "inductor"])
def test_dynamic_true_makes_floats_inputs_too(check: Any, inner: str) -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(8)
            self.scale = 0.37

        def forward(self, x: torch.Tensor, alpha: float) -> torch.Tensor:
            return self.norm(x) * self.scale * alpha + x.shape[0]

    eager = Scaled()
    model = bucketed(eager, BucketLadder.pins([16]), {"x": {0: "tokens"}}, inner=inner, dynamic=True)
    for tokens, alpha in ((16, 0.5), (20, 0.5), (16, 0.7), (16, 0.9)):
        with torch.no_grad():
            check(eager, model, lambda t=tokens, a=alpha: [torch.randn(t, 8), a])
    assert not rungs(model, RungRefused)
    assert sum(c.count for c in model.backend.dispatch_counts() if c.outcome == "exact") == 3


def test_a_range_that_the_trace_cuts_serves_what_is_left(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 24 else x - 1

    ladder = BucketLadder.range(8, 64, hint=40)
    model = bucketed(f, ladder, {"x": {0: "tokens"}}, inner="aot_eager")
    for tokens in (10, 40, 24, 25):
        check(f, model, lambda t=tokens: [torch.randn(t, 8)])
    ranges = [e for e in model.backend.events() if isinstance(e, RungCompiled) and e.kind == "range"]
    assert [event.sizes for event in ranges] == [(("tokens", 8, 24),), (("tokens", 25, 64),)]
    assert [event.hints for event in ranges] == [(("tokens", 24),), (("tokens", 40),)]


def test_a_dimension_that_the_model_fixes_gets_no_rungs(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.view(16, -1) * 2

    model = bucketed(f, BucketLadder.pins([16, 32]), {"x": {0: "tokens"}}, inner="aot_eager")
    for tokens in (16, 32):
        check(f, model, lambda t=tokens: [torch.randn(t, 16)])
    assert sum(c.count for c in model.backend.dispatch_counts()) == 2


def test_a_specialized_dimension_is_bypassed_and_said_so(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(16, 8)

    model = bucketed(f, BucketLadder.pins([16]), {"x": {0: "tokens"}}, inner="aot_eager")
    check(f, model, lambda: [torch.randn(16, 8)])
    (captured,) = [event for event in model.backend.events() if isinstance(event, EntryCaptured)]
    assert captured.bypassed == "tokens is x.size(0) == 16: not marked dynamic, or the model's code fixes it"
    assert outcomes(model) == {("bypassed", "bypassed", ()): 1}
    assert "no rungs: tokens is x.size(0) == 16" in str(model.explain())


def test_a_tensor_subclass_is_bypassed(check: Any) -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    model = bucketed(f, BucketLadder.pins([16]), {"x": {0: "tokens"}}, inner="aot_eager")
    result = model(TwoTensor(torch.ones(16, 8), torch.zeros(16, 8)))
    assert result.a.sum() == 256
    (captured,) = [event for event in model.backend.events() if isinstance(event, EntryCaptured)]
    assert "tensor subclass" in captured.bypassed


@pytest.mark.parametrize(
    ("ladder", "dims", "message"),
    [
        (BucketLadder.pins([16]), {"y": {0: "tokens"}}, "the model takes x"),
        (BucketLadder.pins([16]), {"x": {0: "a", 1: "b"}}, "one ladder, but dims has 2 names: a, b"),
        (BucketLadder.pins([16]), {}, "dims names no dimension"),
        ({"rows": BucketLadder.pins([16])}, {"x": {0: "tokens"}}, "named 'rows'"),
        (BucketLadder.pads([16]), {"x": {0: "tokens"}}, "no contract says how to pad"),
    ],
)
def test_a_call_that_cannot_be_meant_fails_at_once(ladder: Any, dims: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bucketed(lambda x: x, ladder, dims)


def test_an_inner_compiler_that_torch_does_not_know() -> None:
    with pytest.raises(UsageError, match="inner='inducter' is no compiler that torch knows"):
        bucketed(lambda x: x, BucketLadder.pins([16]), {"x": {0: "t"}}, inner="inducter")


def test_mode_is_inductors() -> None:
    with pytest.raises(UsageError, match="mode and options are Inductor's"):
        bucketed(lambda x: x, BucketLadder.pins([16]), {"x": {0: "t"}}, inner="eager", mode="max-autotune")
