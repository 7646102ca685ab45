"""Microseconds a dispatch adds to a call: ours, vLLM's piecewise backend, torch's specialize_on.

Each row is the best of many repetitions, the contestants alternating, minus a direct call of the artifact.
Exits with 1 when a static ladder of 51 rungs costs more than 0.15 us, with counting.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

import torch

from compilescope.bucketing import bucketed
from compilescope.bucketing.dispatch import Dispatch, Served
from compilescope.ladder import BucketLadder

LIMIT_US = 0.15
RUNGS = (3, 16, 51)
REPEATS, CALLS = 25, 20_000


def leaf(*arguments: Any) -> None:
    """Stands for the artifact: what it does is not the dispatch's cost."""


def best_us(
    contestants: dict[str, Callable[..., Any]], arguments: tuple[Any, ...], calls: int = CALLS
) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(REPEATS):
        for name, function in contestants.items():
            scope = {"function": function, "arguments": arguments}
            taken = timeit.timeit("function(*arguments)", globals=scope, number=calls) / calls * 1e6
            best[name] = min(best[name], taken)
    return best


def ours(rungs: int, outcome: str = "exact") -> Callable[..., Any]:
    dispatch = Dispatch(["a[0]"], Served("eager", "eager", leaf), leaf)
    for k in range(1, rungs + 1):
        dispatch.add_pin([16 * k], Served(str(16 * k), "exact", leaf))
    dispatch.add_step(Served("range", "range", leaf, ("1 <= a[0] <= 8192",)))
    dispatch.arm()
    return dispatch.function


def vllms(rungs: int) -> Callable[..., Any] | None:
    """Its ``__call__`` on the same table; None where vLLM is not installed."""
    try:
        from vllm.compilation.piecewise_backend import PiecewiseBackend, RangeEntry
        from vllm.config.utils import Range
    except ImportError:
        return None
    backend = object.__new__(PiecewiseBackend)
    backend.compile_sizes = [16 * k for k in range(1, rungs + 1)]
    backend.compile_ranges = [Range(1, 8192)]
    spans = [Range(size, size) for size in backend.compile_sizes] + backend.compile_ranges
    backend.range_entries = {span: RangeEntry(span, True, leaf) for span in spans}
    backend.sym_shape_indices = [0]
    return backend


def dispatch_alone() -> bool:
    print("dispatch alone, us over calling the artifact")
    titles = ("exact hit", "range hit", "vLLM exact", "vLLM range")
    print(f"{'arguments':>10} {'rungs':>6} " + " ".join(f"{title:>11}" for title in titles))
    within = True
    for count in (4, 30, 300):
        for rungs in RUNGS:
            rest = tuple(range(count - 1))
            theirs = vllms(rungs)
            contestants = {"leaf": leaf, "ours": ours(rungs)} | ({"vllm": theirs} if theirs else {})
            exact = best_us(contestants, (16 * rungs, *rest))
            in_range = best_us(contestants, (16 * rungs + 1, *rest))
            cells = [
                each[name] - each["leaf"]
                for name in ("ours", "vllm")
                if name in exact
                for each in (exact, in_range)
            ]
            texts = [f"{cell:.3f}" for cell in cells] + ["not here"] * (4 - len(cells))
            print(f"{count:>10} {rungs:>6} " + " ".join(f"{text:>11}" for text in texts))
            if (count, rungs) == (4, 51):
                within = cells[0] <= LIMIT_US
    return within


def whole_calls() -> None:
    print("\na whole call of a compiled x + 1 (inner compiler eager), us, with Dynamo's guards")
    print(f"{'rungs':>6} {'no ladder':>10} {'bucketed':>10} {'specialize_on':>14}")
    for rungs in RUNGS:
        torch._dynamo.reset()
        sizes = [16 * k for k in range(1, rungs + 1)]
        x = torch.randn(sizes[-1], 1)
        with torch.no_grad():
            contestants = {
                "plain": _compiled_plainly(),
                "bucketed": _compiled_bucketed(sizes),
                "specialize_on": _compiled_specialized(sizes),
            }
            for function in contestants.values():
                function(x)
            best = best_us(contestants, (x,), 1000)
        print(f"{rungs:>6} {best['plain']:>10.1f} {best['bucketed']:>10.1f} {best['specialize_on']:>14.1f}")


def _compiled_plainly() -> Callable[..., Any]:
    return torch.compile(lambda x: x + 1, backend="eager", dynamic=True)


def _compiled_bucketed(sizes: list[int]) -> Callable[..., Any]:
    model = bucketed(lambda x: x + 1, BucketLadder.pins(sizes), {"x": {0: "rows"}}, inner="eager")
    model.warm_up(torch.randn(7, 1), grad=False)
    return model  # type: ignore[no-any-return]


def _compiled_specialized(sizes: list[int]) -> Callable[..., Any]:
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    first = torch.randn(sizes[-1], 1)
    # A default argument each: a lambda over the loop variable would test the last size only.
    predicates = [lambda size, wanted=size: size == wanted for size in sizes]
    torch._dynamo.mark_dynamic(first, 0, specialize_on=predicates)
    compiled(first)
    return compiled  # type: ignore[no-any-return]


if __name__ == "__main__":
    torch.set_num_threads(1)
    fast_enough = dispatch_alone()
    whole_calls()
    print(f"\na ladder of 51 at most {LIMIT_US} us: {'yes' if fast_enough else 'NO'}")
    sys.exit(0 if fast_enough else 1)
