"""The counter in front of a compiled graph: exact, transparent, bounded."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compilescope.capture import _graphs
from compilescope.capture._graphs import GraphCounter, counting

SizeKey = int | tuple[int, ...]


def _counter(sizes: list[str] | None = None) -> GraphCounter:
    return GraphCounter(0, None, {"sizes": sizes or []})


def test_without_sizes_calls_are_counted_and_passed_through() -> None:
    counter = _counter()
    run = counting(lambda *args: args, counter, [])
    assert [run(), run(1), run(1, "b")] == [(), (1,), (1, "b")]
    assert counter.row() == [0, 3, None]


@given(st.lists(st.tuples(st.integers(-(2**70), 2**70), st.integers(0, 3)), max_size=50))
def test_sizes_are_counted_by_the_tuple_of_their_values(sizes: list[tuple[int, int]]) -> None:
    counter = _counter(["s0", "s1"])
    run = counting(lambda a, _tensor, b: (a, b), counter, [0, 2])
    assert [run(a, None, b) for a, b in sizes] == sizes
    expected = {f"{a},{b}": n for (a, b), n in Counter(sizes).items()}
    assert counter.row() == [0, len(sizes), expected or None]


def test_distinct_sizes_are_capped_and_the_rest_is_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_graphs, "MAX_SIZES", 3)
    counter = _counter(["s0"])
    run = counting(lambda n: n, counter, [0])
    for n in [*range(10), 0, 9]:
        run(n)
    assert counter.row() == [0, 12, {"0": 2, "1": 1, "2": 1, "other": 8}]


@pytest.mark.parametrize("args", [(), ([],), (object(),)])
def test_a_size_that_cannot_be_a_key_never_costs_the_call(args: tuple[Any, ...]) -> None:
    counter = _counter(["s0"])
    run = counting(lambda *given_: given_, counter, [0])
    assert run(*args) == args
    assert counter.calls() == 1


def test_the_programs_own_exception_comes_through_once() -> None:
    calls = []

    def fails(n: int) -> None:
        calls.append(n)
        raise IndexError("the program's")

    for positions in ([], [0]):
        with pytest.raises(IndexError, match="the program's"):
            counting(fails, _counter(), positions)(1)
    assert calls == [1, 1]


@pytest.mark.parametrize("positions", [[], [0]])
def test_threads_lose_no_count(positions: list[int]) -> None:
    counter = _counter(["s0"])
    run = counting(lambda n: n, counter, positions)
    threads = [threading.Thread(target=lambda: [run(n % 7) for n in range(20_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.calls() == 80_000


def test_the_counting_function_looks_like_the_graph() -> None:
    def compiled(a: int) -> int:
        """Generated."""
        return a

    compiled._boxed_call = True  # type: ignore[attr-defined]
    compiled.zero_grad = "kept"  # type: ignore[attr-defined]
    compiled._torchdynamo_orig_callable = len  # type: ignore[attr-defined]
    run = counting(compiled, _counter(), [])
    assert (run.__name__, run.__doc__) == ("compiled", "Generated.")
    assert (run._boxed_call, run.zero_grad) == (True, "kept")
    assert not hasattr(run, "_torchdynamo_orig_callable")


def test_a_callable_object_can_be_counted() -> None:
    counter = _counter()
    assert counting(torch.nn.Identity(), counter, [])(3) == 3
    assert counter.calls() == 1


def test_a_lazily_generated_forward_is_made_ready() -> None:
    from torch.fx._lazy_graph_module import _LazyGraphModule

    graph = torch.fx.Graph()
    graph.output(graph.placeholder("x"))
    lazy = _LazyGraphModule(torch.nn.Module(), graph)
    ready = _graphs._ready(lazy.forward)
    assert ready.__name__ != "_lazy_forward"
    assert ready(5) == 5
    assert _graphs._ready(len) is len


def test_clearing_starts_from_zero() -> None:
    counter = _counter(["s0"])
    run = counting(lambda n: n, counter, [0])
    run(1)
    counter.clear()
    assert counter.row() == [0, 0, None]
    run(2)
    assert counter.row() == [0, 1, {"2": 1}]
