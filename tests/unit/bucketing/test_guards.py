from __future__ import annotations

from typing import Any

import torch

from compilescope.bucketing.guards import admitted_hint, admitted_range, violation
from compilescope.bucketing.identify import bind_names
from compilescope.bucketing.preconditions import bypass_reason

SIZE_X = "L['x'].size()[0]"


def branchy(x: torch.Tensor) -> torch.Tensor:
    assert x.shape[0] % 4 == 0
    if x.shape[0] > 24:
        return x * 2
    return x - 1


def test_a_guard_that_a_size_breaks_comes_with_the_users_line(trace: Any) -> None:
    traced = trace(branchy, torch.randn(16, 8))
    symbol = traced.symbol(SIZE_X)
    assert violation(traced.shape_env, {symbol: 20}) is None
    above = violation(traced.shape_env, {symbol: 32})
    assert above is not None
    assert "x.shape[0] > 24" in str(above.user_line)
    odd = violation(traced.shape_env, {symbol: 18})
    assert odd is not None
    assert "Mod" in odd.guard
    below = violation(traced.shape_env, {symbol: 1})
    assert below is not None
    assert ">= 2" in below.guard


def test_a_guard_over_another_symbol_is_left_undecided(trace: Any) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum() if x.shape[0] + y.shape[0] > 50 else x.sum() - y.sum()

    traced = trace(f, torch.randn(16, 8), torch.randn(20, 8))
    x, y = traced.symbol(SIZE_X), traced.symbol("L['y'].size()[0]")
    assert violation(traced.shape_env, {x: 16}) is None
    assert violation(traced.shape_env, {x: 16, y: 48}) is not None


def test_ranges_are_cut_and_hints_moved_to_what_the_trace_allows(trace: Any) -> None:
    traced = trace(branchy, torch.randn(16, 8))
    symbol = traced.symbol(SIZE_X)
    assert admitted_range(traced.shape_env, symbol, 1, 100) == (2, 24)
    assert admitted_range(traced.shape_env, symbol, 30, 100) is None
    assert admitted_hint(traced.shape_env, [symbol], (2, 24), 18) == 20
    assert admitted_hint(traced.shape_env, [symbol], (2, 24), 500) == 24
    assert admitted_hint(traced.shape_env, [symbol], (17, 19), 18) is None


def test_names_are_found_by_the_arguments_name(trace: Any) -> None:
    traced = trace(lambda x, y: x.sum() + y.sum(), torch.randn(7, 8), torch.randn(9, 8))
    dims = {"x": {0: "rows", 1: "columns"}, "y": {0: None}}
    names = bind_names(traced.inputs, traced.examples, dims, {"rows", "columns"})
    assert names["rows"].symbols == (traced.symbol(SIZE_X),)
    assert (names["columns"].symbols, names["columns"].static) == ((), 8)
    assert bind_names(traced.inputs, traced.examples, dims, {"rows"}).keys() == {"rows"}


def test_a_graph_gets_rungs_only_when_a_name_is_a_symbol_of_it(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(7, 8))
    assert bypass_reason(traced.captured.graph_module, traced.inputs, traced.examples, {}) is not None
    names = bind_names(traced.inputs, traced.examples, {"x": {0: "n"}}, {"n"})
    assert bypass_reason(traced.captured.graph_module, traced.inputs, traced.examples, names) is None
