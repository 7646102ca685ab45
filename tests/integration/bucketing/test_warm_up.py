"""After a warm-up nothing compiles any more, whatever happened during it."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

LADDER = BucketLadder.pins([16, 24, 32, 48]) | BucketLadder.range(49, 128, hint=96)
DIMS = {"x": {0: "tokens"}}


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(self.up(self.norm(x)).relu())


def compiles() -> tuple[int, int]:
    return counters["stats"]["unique_graphs"], counters["aot_autograd"]["total"]


def total(model: Any, outcome: str) -> int:
    return sum(count.count for count in model.backend.dispatch_counts() if count.outcome == outcome)


def test_no_size_of_the_ladder_compiles_after_a_warm_up() -> None:
    block = Block()
    model = bucketed(block, LADDER, DIMS, inner="aot_eager")
    done = model.warm_up(torch.randn(3, 8))
    assert (done.compiled, done.failed, done.refused) == (12, 0, 0)
    before, events = compiles(), len(model.backend.events())
    sizes = random.Random(0)
    with torch.compiler.set_stance("fail_on_recompile"):
        for k in range(200):
            x = torch.randn(sizes.choice([16, 24, 32, 48, sizes.randint(49, 128)]), 8)
            with torch.set_grad_enabled(k % 2 == 0):
                output = model(x)
            torch.testing.assert_close(output, block(x), rtol=1e-4, atol=1e-5)
            if output.requires_grad:
                output.sum().backward()
    assert compiles() == before
    assert len(model.backend.events()) == events
    assert total(model, "exact") + total(model, "range") == 200
    assert total(model, "eager") == total(model, "dynamic") == 0


@pytest.mark.slow
def test_no_size_of_the_ladder_compiles_after_a_warm_up_through_inductor() -> None:
    block = Block()
    model = bucketed(block, BucketLadder.pins([16, 32]) | BucketLadder.range(33, 64), DIMS)
    model.warm_up(torch.randn(3, 8))
    before = dict(counters["inductor"]), compiles()
    with torch.compiler.set_stance("fail_on_recompile"):
        for k in range(200):
            x = torch.randn(random.Random(k).choice([16, 32, 40, 64]), 8)
            with torch.set_grad_enabled(k % 2 == 0):
                output = model(x)
            torch.testing.assert_close(output, block(x), rtol=1e-4, atol=1e-4)
            if output.requires_grad:
                output.sum().backward()
    assert (dict(counters["inductor"]), compiles()) == before


def test_a_warm_up_leaves_no_trace_in_the_model() -> None:
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
    model = bucketed(net, LADDER, {"input": {0: "tokens"}}, inner="eager")
    buffers = [buffer.clone() for buffer in net.buffers()]
    example = torch.randn(20, 8)
    kept, state = example.clone(), torch.get_rng_state()
    model.warm_up(example)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(example, kept)
    assert all(torch.equal(a, b) for a, b in zip(net.buffers(), buffers, strict=True))
    assert all(parameter.grad is None for parameter in net.parameters())
    assert total(model, "exact") == total(model, "eager") == 0


def test_both_sides_of_a_branch_are_traced() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 40 else x - 1

    model = bucketed(f, LADDER, DIMS, inner="aot_eager")
    model.warm_up(torch.randn(20, 8), grad=False)
    assert len(model.backend.entries) == 2
    assert model.explain().unadmitted == ()
    with torch.no_grad(), torch.compiler.set_stance("fail_on_recompile"):
        for size in (16, 48, 32, 100):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), f(x))
    assert total(model, "exact") == 3
    assert total(model, "range") == 1


def test_the_graph_behind_a_graph_break_has_its_rungs_too() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y.relu() + y.shape[0]

    model = bucketed(f, LADDER, DIMS, inner="aot_eager")
    model.warm_up(torch.randn(20, 8), grad=False)
    with torch.no_grad(), torch.compiler.set_stance("fail_on_recompile"):
        for size in (16, 48, 100, 16):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), f(x))
    hits = {entry.number: sum(c.count for c in entry.dispatch_counts()) for entry in model.backend.entries}
    assert hits == {0: 4, 1: 4}
    assert total(model, "exact") == 6


@pytest.mark.parametrize("warm", [True, False])
def test_a_size_that_is_carried_over_a_graph_break(warm: bool) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        doubled = x.shape[0] * 2
        y = x * doubled
        torch._dynamo.graph_break()
        return y + doubled

    model = bucketed(f, LADDER, DIMS, inner="aot_eager")
    with torch.no_grad():
        if warm:
            model.warm_up(torch.randn(20, 8), grad=False)
        before = len(model.backend.events())
        for size in (16, 48, 32, 24, 16):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), f(x))
    assert not warm or len(model.backend.events()) == before
    assert total(model, "bypassed") == 0
    assert total(model, "exact") == 10


def test_building_only_in_a_warm_up_never_compiles_while_a_request_waits() -> None:
    model = bucketed(Block(), LADDER, DIMS, inner="aot_eager", build="warm_up")
    with torch.no_grad():
        model(torch.randn(16, 8))
        assert (total(model, "eager"), total(model, "exact")) == (1, 0)
        model.warm_up(torch.randn(20, 8), grad=False)
        model(torch.randn(16, 8))
    assert (total(model, "eager"), total(model, "exact")) == (1, 1)


def test_autocast_is_warmed_up_where_it_is_entered() -> None:
    block = Block()
    model = bucketed(block, BucketLadder.pins([16]), DIMS, inner="aot_eager")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model.warm_up(torch.randn(20, 8))
    x = torch.randn(16, 8)
    with torch.compiler.set_stance("fail_on_recompile"), torch.autocast("cpu", dtype=torch.bfloat16):
        output, expected = model(x), block(x)
    assert output.dtype == expected.dtype
    torch.testing.assert_close(output, expected, rtol=0.05, atol=0.05)
    output.float().sum().backward()
    assert "autocast cpu bfloat16" in str(model.explain())


def test_inference_mode_is_warmed_up_when_asked() -> None:
    block = Block()
    model = bucketed(block, BucketLadder.pins([16]), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(20, 8), grad=False, inference_mode=True)
    with torch.compiler.set_stance("fail_on_recompile"), torch.inference_mode():
        x = torch.randn(16, 8)
        torch.testing.assert_close(model(x), block(x))
    assert total(model, "exact") == 1


def test_a_bucketed_module_is_the_module_to_those_who_save_and_train_it() -> None:
    block = Block()
    model = bucketed(block, LADDER, DIMS, inner="eager")
    assert list(model.state_dict()) == [f"_orig_mod.{key}" for key in block.state_dict()]
    assert [*model.parameters()] == [*block.parameters()]
    assert model.up is block.up
    model.eval()
    assert not block.training
    with pytest.raises(AttributeError):
        model.nothing  # noqa: B018


class Pooled(torch.nn.Module):
    """Refuses a single row, as batch norm does while it trains."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 1:
            raise ValueError("more than one row is wanted")
        return x - x.mean(0)


ONES = {
    "pads": (BucketLadder.pads([4, 8]), [Pad("x", 0)], Block),
    "range": (BucketLadder.range(1, 8, hint=4), (), Block),
    "rung of 1": (BucketLadder.pads([1, 8]), [Pad("x", 0)], Block),
    "a pin elsewhere": (BucketLadder.pins([4]) | BucketLadder.range(1, 8), (), Block),
}


@pytest.mark.parametrize("case", ONES)
def test_a_size_of_one_that_the_ladder_serves_is_traced_too(case: str) -> None:
    ladder, pad, make = ONES[case]
    block = make()
    model = bucketed(block, ladder, DIMS, pad=pad, inner="aot_eager")
    model.warm_up(torch.randn(3, 8))
    before = compiles()
    with torch.compiler.set_stance("fail_on_recompile"):
        for size in (1, 2, 3, 8, 1):
            for grad in (True, False):
                x = torch.randn(size, 8)
                with torch.set_grad_enabled(grad):
                    torch.testing.assert_close(model(x), block(x), rtol=1e-4, atol=1e-5)
    assert compiles() == before


def test_ones_of_two_symbols() -> None:
    ladder = {"batch": BucketLadder.range(1, 8, hint=4), "length": BucketLadder.range(1, 64, hint=16)}
    block = Block()
    model = bucketed(block, ladder, {"x": {0: "batch", 1: "length"}}, inner="aot_eager")
    model.warm_up(torch.randn(3, 5, 8))
    before = compiles()
    with torch.compiler.set_stance("fail_on_recompile"), torch.no_grad():
        for shape in ((1, 1, 8), (1, 7, 8), (6, 1, 8), (6, 7, 8)):
            x = torch.randn(shape)
            torch.testing.assert_close(model(x), block(x), rtol=1e-4, atol=1e-5)
    assert compiles() == before


def test_a_model_that_takes_no_single_row_is_warmed_up_all_the_same() -> None:
    net = Pooled()
    model = bucketed(net, BucketLadder.range(1, 8, hint=4), DIMS, inner="aot_eager")
    done = model.warm_up(torch.randn(3, 8), grad=False)
    assert done.compiled > 0
    x = torch.randn(5, 8)
    torch.testing.assert_close(model(x), net(x))


def test_sizes_declared_from_two_are_not_traced_at_one() -> None:
    model = bucketed(Block(), BucketLadder.range(2, 8, hint=4).within(2, 8), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(3, 8), grad=False)
    assert len(model.backend.entries) == 1


def sides_on_one_line(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.shape[0] > 24 else x.relu()


def sides_on_lines_of_their_own(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 24:
        y = x.cos()
        return y * 2
    return x.relu()


def three_sides(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 40:
        return x.cos()
    return x * 2 if x.shape[0] > 24 else x.relu()


def even_and_odd(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.shape[0] % 2 == 0 else x.relu()


def behind_a_break(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch._dynamo.graph_break()
    return y.cos() if x.shape[0] > 24 else y.relu()


BRANCHES = [sides_on_one_line, sides_on_lines_of_their_own, three_sides, even_and_odd, behind_a_break]


@pytest.mark.parametrize("f", BRANCHES)
@pytest.mark.parametrize("hint", [10, 30, 63])
def test_what_guards_cut_off_a_range_is_traced_too(f: Any, hint: int) -> None:
    model = bucketed(f, BucketLadder.range(2, 64, hint=hint), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(10, 8))
    with torch.compiler.set_stance("fail_on_recompile"):
        for size in (3, 20, 24, 25, 30, 41, 64):
            for grad in (True, False):
                x = torch.randn(size, 8)
                with torch.set_grad_enabled(grad):
                    torch.testing.assert_close(model(x), f(x))
    assert total(model, "dynamic") == total(model, "eager") == 0


def test_the_part_of_a_range_that_a_model_refuses_is_tried_once() -> None:
    calls = []

    @torch.compiler.disable
    def note(size: int) -> None:
        calls.append(size)

    def f(x: torch.Tensor) -> torch.Tensor:
        note(x.shape[0])
        if x.shape[0] > 24:
            raise ValueError("too many")
        return x * 2

    model = bucketed(f, BucketLadder.range(2, 64, hint=10), DIMS, inner="aot_eager")
    model.warm_up(torch.randn(5, 8), grad=False)
    assert len([size for size in calls if size > 24]) == 1
    x = torch.randn(24, 8)
    with torch.no_grad():
        torch.testing.assert_close(model(x), f(x))
    assert total(model, "range") == 1
