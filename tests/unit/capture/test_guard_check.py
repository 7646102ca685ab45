"""Every leaf guard of a real entry, checked again by torch's own checker, in the frame it failed in."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

from compilescope.capture._entries import Entry
from compilescope.capture._guard_check import MAX_FAILED, Recheck

X = torch.ones(2, 3)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _recheck(function: Callable[..., Any], compiled_with: dict[str, Any], now: dict[str, Any]) -> Recheck:
    """``function`` compiled with some arguments, its newest entry checked with others."""
    torch.compile(function, backend="eager", dynamic=False)(**compiled_with)
    manager = _debug_get_cache_entry_list(function.__code__)[0].guard_manager
    recheck = Recheck(now, manager.global_scope["G"], Entry(0))
    recheck.run(manager.root)
    return recheck


def _found(recheck: Recheck) -> dict[str, Any]:
    return {failed["source"]: failed.get("got") for failed in recheck.failed}


def test_what_still_holds_does_not_fail() -> None:
    def run(x: torch.Tensor, n: int, names: list[str]) -> torch.Tensor:
        return x + n + len(names)

    arguments = {"x": X, "n": 3, "names": ["a"]}
    recheck = _recheck(run, arguments, dict(arguments))
    assert recheck.failed == []


def test_every_failing_guard_is_found_not_only_the_first() -> None:
    def run(x: torch.Tensor, n: int, names: list[str], flag: bool, text: str) -> torch.Tensor:
        return x + n + len(names) if flag and text == "on" else x

    before = {"x": X, "n": 3, "names": ["a"], "flag": True, "text": "on"}
    now = {"x": X.double(), "n": 4, "names": ["a", "b"], "flag": False, "text": "off"}
    found = _found(_recheck(run, before, now))
    assert found["L['n']"] == {"t": "int", "v": 4}
    assert found["L['text']"] == {"t": "str", "v": "off"}
    assert found["L['names']"]["len"] == 2
    assert found["L['flag']"] == {"t": "bool", "v": False}
    assert found["L['x']"]["v"]["dtype"] == "float64"


def test_a_growing_list_and_a_growing_dict_are_both_named() -> None:
    def attend(x: torch.Tensor, history: list[torch.Tensor], stats: dict[str, float]) -> torch.Tensor:
        for past in history:
            x = x + past
        for value in stats.values():
            x = x * value
        return x

    before = {"x": X, "history": [X], "stats": {"a": 1.0}}
    recheck = _recheck(attend, before, {"x": X, "history": [X, X], "stats": {"a": 1.0, "b": 2.0}})
    assert "L['history']" in _found(recheck)


class _Config:
    def __init__(self) -> None:
        self.scale = 2
        self.table = collections.defaultdict(int, a=1)


def test_a_missing_attribute_or_key_changes_no_user_data() -> None:
    def run(x: torch.Tensor, config: _Config) -> torch.Tensor:
        return x * config.scale + config.table["a"]

    now = _Config()
    del now.scale
    now.table.clear()
    recheck = _recheck(run, {"x": X, "config": _Config()}, {"x": X, "config": now})
    assert dict(now.table) == {}
    assert vars(now).keys() == {"table"}
    assert sum(recheck.unchecked.values()) + len(recheck.failed) > 0


def test_an_argument_that_is_gone_is_unchecked() -> None:
    def run(x: torch.Tensor, n: int) -> torch.Tensor:
        return x + n

    recheck = _recheck(run, {"x": X, "n": 3}, {})
    assert recheck.failed == []
    assert sum(recheck.unchecked.values()) >= 2


def test_the_same_tensor_twice_is_found() -> None:
    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b

    recheck = _recheck(run, {"a": X, "b": X.clone()}, {"a": X, "b": X})
    (failed,) = recheck.failed
    assert failed["got"] == {"t": "same", "v": ["L['a']", "L['b']"]}


def test_a_dynamic_size_out_of_range_is_told_with_its_operands() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 5 else x

    x = torch.ones(8, 3)
    torch._dynamo.mark_dynamic(x, 0)
    torch.compile(run, backend="eager")(x)
    manager = _debug_get_cache_entry_list(run.__code__)[0].guard_manager
    recheck = Recheck({"x": torch.ones(4, 3)}, manager.global_scope["G"], Entry(0))
    recheck.run(manager.root)
    (failed,) = recheck.failed
    assert failed["operands"] == {"L['x'].size()[0]": {"t": "int", "v": 4}}


def test_failures_are_capped_and_the_rest_counted() -> None:
    def run(x: torch.Tensor, numbers: list[int]) -> torch.Tensor:
        for n in numbers:
            x = x + n
        return x

    size = MAX_FAILED + 30
    recheck = _recheck(
        run, {"x": X, "numbers": list(range(size))}, {"x": X, "numbers": list(range(500, 500 + size))}
    )
    assert len(recheck.failed) == MAX_FAILED
    assert recheck.unchecked["over the limit"] == size - MAX_FAILED


def test_guards_that_run_user_code_are_not_asked_again() -> None:
    asked: list[int] = []

    class Wrapped(torch.Tensor):  # type: ignore[misc]
        @staticmethod
        def __new__(cls, inner: torch.Tensor) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner: torch.Tensor) -> None:
            self.inner = inner

        def __tensor_flatten__(self) -> Any:
            asked.append(1)
            return ["inner"], {"kept": 1}

        @staticmethod
        def __tensor_unflatten__(inner: Any, *_: Any) -> Any:
            return Wrapped(inner["inner"])

        @classmethod
        def __torch_dispatch__(cls, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            plain = [a.inner if isinstance(a, Wrapped) else a for a in args]
            out = function(*plain, **(kwargs or {}))
            return Wrapped(out) if isinstance(out, torch.Tensor) else out

    def run(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    torch.compile(run, backend="eager")(Wrapped(X))
    manager = _debug_get_cache_entry_list(run.__code__)[0].guard_manager
    recheck = Recheck({"x": Wrapped(X)}, manager.global_scope["G"], Entry(0))
    asked.clear()
    recheck.run(manager.root)
    assert asked == []
