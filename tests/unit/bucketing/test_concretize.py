from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing.concretize import PrivateWorld, literal_copy

SIZE_X = "L['x'].size()[0]"


def world(traced: Any, sizes: dict[Any, int], **options: Any) -> PrivateWorld:
    return PrivateWorld(traced.inputs, traced.captured.traits, traced.shape_env, sizes, **options)


def tensors(made: PrivateWorld) -> list[torch.Tensor]:
    return [argument for argument in made.arguments if isinstance(argument, torch.Tensor)]


def test_a_fixed_symbol_leaves_no_symint(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(7, 8))
    made = world(traced, {traced.symbol(SIZE_X): 16})
    (x,) = tensors(made)
    assert [type(size) for size in x.shape] == [int, int]
    assert tuple(x.shape) == (16, 8)
    assert 16 in made.arguments
    assert made.free == {}
    assert made.shape_env.var_to_range == {}


def test_only_the_bucketed_symbol_is_fixed(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(7, 9), dims=[0, 1])
    made = world(traced, {traced.symbol(SIZE_X): 16})
    (x,) = tensors(made)
    assert x.shape[0] == 16
    assert isinstance(x.shape[1], torch.SymInt)
    assert len(made.free) == 1


def test_a_stride_of_its_own_stays_a_symbol(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(8, 257)[:, :7], dims=[1])
    made = world(traced, {traced.symbol("L['x'].size()[1]"): 16})
    (x,) = tensors(made)
    assert tuple(x.shape) == (8, 16)
    assert x.stride()[0] != 16


def test_storage_is_as_long_as_the_layout_needs(trace: Any) -> None:
    base = torch.randn(100, 8)
    traced = trace(lambda x: x * 2, base[5:12])
    made = world(traced, {traced.symbol(SIZE_X): 16})
    (x,) = tensors(made)
    offset = int(x.storage_offset())
    assert x.untyped_storage().nbytes() // 4 == 16 * 8 + offset


def test_traits_come_from_the_real_argument(trace: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(8, 8))
    traced = trace(lambda x, w: x @ w, torch.randn(7, 8, requires_grad=True), weight)
    made = world(traced, {traced.symbol(SIZE_X): 16})
    kinds = {
        (type(t) is torch.nn.Parameter or isinstance(t, torch.nn.Parameter), t.requires_grad)
        for t in tensors(made)
    }
    assert kinds == {(True, True), (False, True)}


def test_a_hint_and_a_span_of_ones_own(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(7, 8))
    symbol = traced.symbol(SIZE_X)
    made = world(traced, {}, hints={symbol: 777}, spans={symbol: (65, 1024)})
    (x,) = tensors(made)
    assert x.shape[0].node.hint == 777
    span = made.span_after(symbol)
    assert (int(span.lower), int(span.upper)) == (65, 1024)


def test_the_copy_has_literals_and_the_original_is_untouched(trace: Any) -> None:
    traced = trace(lambda x: x * x.shape[0] + x.reshape(x.shape[0] * 8).sum(), torch.randn(7, 8))
    graph_module = traced.captured.graph_module
    before = graph_module.code if hasattr(graph_module, "code") else str(graph_module.graph)
    made = world(traced, {traced.symbol(SIZE_X): 16})
    copy = literal_copy(graph_module, made.mapping)
    placeholder = next(n for n in copy.graph.nodes if n.op == "placeholder" and n.name.startswith("s"))
    assert not placeholder.users
    assert "16" in copy.code
    assert (graph_module.code if hasattr(graph_module, "code") else str(graph_module.graph)) == before
    x = torch.randn(16, 8)
    arguments = [x if isinstance(each, torch.Tensor) else 16 for each in made.arguments]
    torch.testing.assert_close(copy(*arguments)[0], x * 16 + x.sum())


def test_a_symbol_that_comes_from_data_cannot_be_minted(trace: Any) -> None:
    traced = trace(lambda x: x * 2, torch.randn(7, 8))
    symbol = traced.symbol(SIZE_X)
    values = getattr(traced.shape_env, "backed_var_to_val", None)
    (values if values is not None else traced.shape_env.var_to_val).pop(symbol)
    with pytest.raises(LookupError, match="comes from data"):
        world(traced, {})
