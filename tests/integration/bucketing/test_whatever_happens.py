"""Interrupts, failing compiles, threads and resets: every call is served and counted."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from compilescope import observer
from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import (
    BackendReset,
    EntryCaptured,
    RungCompiled,
    RungFailed,
    WarmUpBegan,
    WarmUpEnded,
)

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


def test_an_interrupt_keeps_what_was_built_and_can_be_resumed() -> None:
    made: list[int] = []
    interrupt_at = 3

    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        made.append(1)
        if len(made) == interrupt_at:
            raise KeyboardInterrupt
        return graph.forward

    model = bucketed(Block(), LADDER, DIMS, inner=inner)
    with pytest.raises(KeyboardInterrupt):
        model.warm_up(torch.randn(20, 8), grad=False)
    with torch.no_grad():
        for size in (16, 24, 32):
            model(torch.randn(size, 8))
    assert (total(model, "exact"), total(model, "eager")) == (2, 1)
    assert len(made) == interrupt_at
    done = model.warm_up(torch.randn(20, 8), grad=False)
    assert done.compiled == 4
    with torch.no_grad():
        model(torch.randn(32, 8))
    assert (total(model, "exact"), total(model, "eager")) == (3, 1)


def test_a_rung_whose_compile_fails_falls_back_and_the_others_stay(caplog: Any) -> None:
    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        if any(argument == 24 for argument in arguments if isinstance(argument, int)):
            raise RuntimeError("ptxas ran out of registers")
        return graph.forward

    block = Block()
    model = bucketed(block, LADDER, DIMS, inner=inner)
    done = model.warm_up(torch.randn(20, 8), grad=False)
    assert (done.compiled, done.failed) == (5, 1)
    with torch.no_grad():
        for size in (16, 24, 32):
            x = torch.randn(size, 8)
            torch.testing.assert_close(model(x), block(x))
    assert (total(model, "exact"), total(model, "dynamic")) == (2, 1)
    (failed,) = [event for event in model.backend.events() if isinstance(event, RungFailed)]
    assert failed.rung == "24"
    assert "ptxas ran out of registers" in failed.error
    assert "ptxas ran out of registers" in str(model.explain())
    assert "ptxas ran out of registers" in caplog.text


def test_when_every_compile_fails_calls_still_get_eagers_result() -> None:
    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        raise RuntimeError("no compiler here")

    block = Block()
    model = bucketed(block, LADDER, DIMS, inner=inner)
    x = torch.randn(16, 8)
    torch.testing.assert_close(model(x), block(x))
    assert total(model, "eager") == 1


def test_threads_calling_at_once_lose_no_call_and_no_count() -> None:
    block = Block()
    model = bucketed(block, LADDER, DIMS, inner="aot_eager")
    model.warm_up(torch.randn(20, 8), grad=False)
    failures: list[BaseException] = []

    def serve(seed: int) -> None:
        sizes = random.Random(seed)
        try:
            with torch.no_grad():
                for _ in range(150):
                    x = torch.full((sizes.choice([16, 24, 32, 48, 60, 200]), 8), float(seed))
                    torch.testing.assert_close(model(x), block(x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=serve, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(count.count for count in model.backend.dispatch_counts()) == 600


def test_dynamo_reset_keeps_the_counts_and_captures_again() -> None:
    model = bucketed(Block(), LADDER, DIMS, inner="aot_eager")
    with torch.no_grad():
        model(torch.randn(16, 8))
        torch._dynamo.reset()
        assert model.backend.entries == ()
        model(torch.randn(16, 8))
    assert total(model, "exact") == 2
    kinds = [type(event) for event in model.backend.events()]
    assert kinds.count(EntryCaptured) == 2
    assert kinds.count(BackendReset) == 1


def test_an_observer_sees_every_compile_and_reads_the_counts() -> None:
    seen: list[observer.Event] = []
    model = bucketed(Block(), LADDER, DIMS, inner="aot_eager")
    observer.register(seen.append)
    try:
        model.warm_up(torch.randn(20, 8), grad=False)
        late: list[observer.Event] = []
        observer.register(late.append)
        observer.unregister(late.append)
    finally:
        observer.unregister(seen.append)
    told = [event for event in seen if event.backend == model.backend.name]
    assert isinstance(told[0], WarmUpBegan)
    assert [type(event) for event in told].count(WarmUpBegan) == [type(event) for event in told].count(
        WarmUpEnded
    )
    mine = [event for event in told if not isinstance(event, (WarmUpBegan, WarmUpEnded))]
    assert mine == model.backend.events()
    assert [event for event in late if event.backend == model.backend.name] == mine
    assert [event.rung for event in mine if isinstance(event, RungCompiled)][:2] == ["16", "24"]
    with torch.no_grad():
        model(torch.randn(16, 8))
        model(torch.randn(16, 8))
    counts = [c for c in observer.dispatch_snapshot() if c.backend == model.backend.name and c.count]
    assert [(c.rung, c.outcome, c.names, c.sizes, c.count) for c in counts] == [
        ("16", "exact", ("tokens",), (16,), 2)
    ]


def test_a_request_in_another_thread_does_not_wait_for_the_warm_up() -> None:
    at_work, served = threading.Event(), threading.Event()

    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        at_work.set()
        assert served.wait(60), "the request waited for the compile"
        return graph.forward

    model = bucketed(Block(), BucketLadder.pins([16]), DIMS, inner=inner)
    thread = threading.Thread(target=lambda: model.warm_up(torch.randn(20, 8), grad=False))
    thread.start()
    assert at_work.wait(60)
    with torch.no_grad():
        model(torch.randn(16, 8))
    served.set()
    thread.join()
    assert total(model, "eager") == 1
    with torch.no_grad():
        model(torch.randn(16, 8))
    assert total(model, "exact") == 1
