from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope.bucketing.piecewise import CannotSplitError, SplitOps, cut
from compilescope.bucketing.piecewise.stitch import stitched, with_expected_strides


def traced(function: Any, *arguments: Any) -> torch.fx.GraphModule:
    """The graph as Dynamo captures it."""
    found: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        found.append(graph)
        return graph.forward

    torch.compile(function, backend=backend)(*arguments)
    return found[0]


def run(graph: torch.fx.GraphModule, ops: list[Any], *arguments: Any) -> tuple[Any, str]:
    pieces = cut(graph, SplitOps(ops))
    function, source = stitched(graph, pieces, [piece.graph_module.forward for piece in pieces])
    return function(*arguments), source


def test_pieces_keep_the_order_and_the_result() -> None:
    x = torch.randn(4)
    graph = traced(lambda x: torch.erf(x.sin()) + x.cos(), x)
    pieces = cut(graph, SplitOps([torch.erf]))
    assert [piece.runs_eagerly for piece in pieces] == [False, True, False]
    (result,), source = run(graph, [torch.erf], x)
    torch.testing.assert_close(result, torch.erf(x.sin()) + x.cos())
    assert "del" in source


def test_a_tuple_is_taken_apart_where_it_is_made() -> None:
    x = torch.randn(4, 6)
    graph = traced(lambda x: [part.sin() for part in torch.split(x.cos(), 2, 1)], x)
    pieces = cut(graph, SplitOps([torch.split, "split"]))
    eager = next(piece for piece in pieces if piece.runs_eagerly)
    assert len(eager.outputs) == 3
    result, _ = run(graph, [torch.split, "split"], x)
    for mine, expected in zip(result, torch.split(x.cos(), 2, 1), strict=True):
        torch.testing.assert_close(mine, expected.sin())


def test_an_operator_first_and_last() -> None:
    x = torch.randn(4)
    graph = traced(lambda x: torch.erf(torch.erf(x).sin()), x)
    pieces = cut(graph, SplitOps([torch.erf]))
    assert [piece.runs_eagerly for piece in pieces] == [True, False, True]
    (result,), _ = run(graph, [torch.erf], x)
    torch.testing.assert_close(result, torch.erf(torch.erf(x).sin()))


def test_constants_of_the_graph_go_with_their_piece() -> None:
    x = torch.randn(3)
    graph = traced(lambda x: (torch.erf(x) * torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0])), x)
    (first, second), _ = run(graph, [torch.erf], x)
    torch.testing.assert_close(first, torch.erf(x) * torch.tensor([1.0, 2.0, 3.0]))
    torch.testing.assert_close(second, torch.tensor([4.0]))


def test_state_over_a_cut_is_refused() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.erf(x.sin()) + x

    graph = traced(function, torch.randn(4))
    with pytest.raises(CannotSplitError, match="grad mode"):
        cut(graph, SplitOps([torch.erf]))
    assert len(cut(graph, SplitOps([torch.exp]))) == 1


def test_a_result_is_brought_into_the_layout_that_was_traced() -> None:
    expected = torch.empty(2, 3, 4).transpose(1, 2)
    given = torch.randn(2, 4, 3)
    assert given.stride() != expected.stride()
    (result,) = with_expected_strides(lambda x: [x], [expected])(given)
    assert result.stride() == expected.stride()
    assert torch.equal(result, given)
    same = torch.randn(2, 3, 4).transpose(1, 2)
    assert with_expected_strides(lambda x: [x], [expected])(same)[0] is same


def test_other_sizes_in_the_same_layout_are_left_alone() -> None:
    run_it = with_expected_strides(lambda x: [x, 5], [torch.empty(2, 3, 4).transpose(1, 2), 5])
    other = torch.randn(7, 5, 6).transpose(1, 2)
    result, number = run_it(other)
    assert result is other
    assert number == 5


def test_gradients_pass_through_a_change_of_layout() -> None:
    x = torch.randn(2, 4, 3, requires_grad=True)
    (y,) = with_expected_strides(lambda x: [x * 2], [torch.empty(2, 3, 4).transpose(1, 2)])(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))


def test_a_dimension_of_size_one_has_any_stride() -> None:
    expected = torch.empty(1, 4, 8)
    given = torch.randn(4, 8).as_strided((1, 4, 8), (99, 8, 1))
    assert with_expected_strides(lambda x: [x], [expected])(given)[0] is given
