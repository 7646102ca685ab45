"""Each way a shape-bucketed backend is known to go wrong, against eager, through Inductor."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder, LadderError
from compilescope.observer import EntryCaptured, RungCompiled, RungRefused

PIN_16 = BucketLadder.pins([16])


def outcomes(model: Any) -> dict[tuple[str, tuple[int, ...] | None], int]:
    """(outcome, sizes) -> calls, over all entries."""
    found: dict[tuple[str, tuple[int, ...] | None], int] = {}
    for count in model.backend.dispatch_counts():
        if count.count:
            key = (count.outcome, count.sizes)
            found[key] = found.get(key, 0) + count.count
    return found


def events(model: Any, kind: type) -> list[Any]:
    return [event for event in model.backend.events() if isinstance(event, kind)]


def test_two_independent_dimensions_keep_their_own_sizes(check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return (x * 2).sum(0), x.t().contiguous() * x.shape[1], x.reshape(-1)

    model = bucketed(f, PIN_16, {"x": {0: "tokens", 1: None}})
    with torch.no_grad():
        for rows, columns in ((16, 24), (16, 33), (20, 24), (16, 16)):
            check(f, model, lambda r=rows, c=columns: [torch.randn(r, c)])
    assert outcomes(model) == {("exact", (16,)): 3, ("dynamic", (20,)): 1}


def test_a_stride_that_is_a_symbol_of_its_own_is_not_the_size(check: Any) -> None:
    weight = torch.randn(8, 8)

    def f(x: torch.Tensor) -> Any:
        return (weight @ x).relu() * 2 + x.sum(), x.contiguous().view(-1)

    model = bucketed(f, PIN_16, {"x": {1: "tokens"}})
    with torch.no_grad():
        for size, pitch in ((16, 128), (16, 257), (16, 16), (20, 64), (16, 64)):
            check(f, model, lambda n=size, p=pitch: [torch.randn(8, p)[:, :n]])
    assert not events(model, RungRefused)


def test_an_input_with_an_offset(check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return x * 2 + x.sum(0), x.shape[0]

    model = bucketed(f, PIN_16, {"x": {0: "tokens"}})
    base = torch.randn(64, 8)
    with torch.no_grad():
        for start, size in ((5, 16), (9, 16), (3, 20)):
            check(f, model, lambda k=start, n=size: [base[k : k + n]])


def test_both_sides_of_a_branch_on_the_size(check: Any) -> None:
    lin = torch.nn.Linear(8, 8)

    def f(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 24:  # the branch
            return lin(x) * 2
        return lin(x) - 1

    model = bucketed(f, BucketLadder.pins([16, 32]), {"x": {0: "tokens"}})
    with torch.no_grad():
        for size in (16, 32, 20, 16, 32, 40):
            check(f, model, lambda n=size: [torch.randn(n, 8)])
    compiled = [(event.entry, event.rung) for event in events(model, RungCompiled) if event.kind == "pin"]
    assert compiled == [(0, "16"), (1, "32")]
    refused = {event.rung: event for event in events(model, RungRefused)}
    assert refused.keys() == {"16", "32"}
    assert "the branch" in refused["32"].user_line
    assert outcomes(model)[("exact", (16,))] == 2
    assert outcomes(model)[("exact", (32,))] == 2
    assert model.explain().unadmitted == ()


def test_a_rung_that_the_users_assertion_excludes_is_refused_with_its_line(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        assert x.shape[0] % 4 == 0
        return x * 2

    model = bucketed(f, BucketLadder.pins([16, 18]), {"x": {0: "tokens"}}, inner="aot_eager")
    check(f, model, lambda: [torch.randn(16, 8)])
    (refused,) = events(model, RungRefused)
    assert refused.rung == "18"
    assert "Mod" in refused.guard
    assert "x.shape[0] % 4" in refused.user_line
    assert model.explain().unadmitted == ("18",)
    assert "no entry admits: 18" in str(model.explain())


@pytest.mark.parametrize("first", [1, 0])
def test_a_first_call_at_size_one_or_zero(check: Any, first: int) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.relu().sum(0) * x.shape[0], x.expand(x.shape[0], 8) + 1

    model = bucketed(f, BucketLadder.pins([1, 16]), {"x": {0: "tokens"}})
    with torch.no_grad():
        for size in (first, 16, 20, 1, 0, 16):
            check(f, model, lambda n=size: [torch.randn(n, 8)])
    assert f"== {first}" in events(model, EntryCaptured)[0].bypassed
    assert outcomes(model)[("exact", (16,))] == 2


def test_gradients_survive_a_static_rung(check: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16))
    model = bucketed(net, PIN_16, {"input": {0: "tokens"}})
    for size in (16, 20, 16):
        check(net, model, lambda n=size: [torch.randn(n, 8, requires_grad=True)], list(net.parameters()))
    assert outcomes(model) == {("exact", (16,)): 2, ("dynamic", (20,)): 1}


def test_a_size_outside_every_rung_is_served_and_counted(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    ladder = BucketLadder.pins([16]) | BucketLadder.range(32, 64)
    model = bucketed(f, ladder, {"x": {0: "tokens"}}, inner="aot_eager")
    for size in (16, 40, 65, 4096):
        check(f, model, lambda n=size: [torch.randn(n, 8)])
    assert outcomes(model) == {
        ("exact", (16,)): 1,
        ("range", (40,)): 1,
        ("dynamic", (65,)): 1,
        ("dynamic", (4096,)): 1,
    }


def test_a_size_that_cannot_occur_is_refused_when_the_ladder_is_written() -> None:
    with pytest.raises(LadderError, match="rung 4096 is above the declared maximum 2048"):
        BucketLadder.pins([256, 4096]).within(1, 2048)


def test_a_size_that_was_declared_impossible_still_gets_eagers_result(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    model = bucketed(f, PIN_16.within(4, 64), {"x": {0: "tokens"}}, inner="aot_eager")
    for size in (16, 64, 65, 3):
        check(f, model, lambda n=size: [torch.randn(n, 8)])
    assert outcomes(model) == {
        ("exact", (16,)): 1,
        ("dynamic", (64,)): 1,
        ("eager", (65,)): 1,
        ("eager", (3,)): 1,
    }


def test_ranges_with_the_same_code_share_one_artifact(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    ladder = BucketLadder.range(2, 8) | BucketLadder.range(9, 16) | BucketLadder.range(17, 32)
    model = bucketed(f, ladder, {"x": {0: "tokens"}})
    with torch.no_grad():
        for size in (8, 12, 32):
            check(f, model, lambda n=size: [torch.randn(n, 8)])
    shared = [event.same_code_as for event in events(model, RungCompiled) if event.kind == "range"]
    first = events(model, RungCompiled)[0].rung
    assert shared == [None, first, first]


def test_a_large_call_after_a_small_first_one(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(0)

    model = bucketed(f, BucketLadder.pins([4, 256]), {"x": {0: "tokens"}})
    with torch.no_grad():
        for size in (4, 256, 4):
            check(f, model, lambda n=size: [torch.randn(n, 8)])
    assert outcomes(model) == {("exact", (4,)): 2, ("exact", (256,)): 1}


def test_sizes_that_come_from_data_are_left_alone(check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        index = (x > 0).nonzero()
        return x.sum(0), index.sum(0).float() * index.shape[0], x.flatten()[:3]

    model = bucketed(f, PIN_16, {"x": {0: "tokens"}})
    with torch.no_grad(), torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for size in (16, 16, 20):
            check(f, model, lambda n=size: [torch.randn(n, 8)])
    assert outcomes(model) == {("exact", (16,)): 2, ("dynamic", (20,)): 1}
