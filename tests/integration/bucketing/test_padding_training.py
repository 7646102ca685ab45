"""Through padded rungs gradients equal eager's, of parameters and inputs, and what is mutated is mutated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import LADDER, SIZES, X0, XM, events, padded, refusals, served

from compilescope.bucketing import Pad, bucketed
from compilescope.observer import RungCompiled, RungRefused, RungVerified

TOKENS: dict[str, dict[int, str | None]] = {"x": {0: "n"}}


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(6, 12), torch.nn.GELU(), torch.nn.LayerNorm(12), torch.nn.Linear(12, 6)
    )


@pytest.mark.parametrize("requires_grad", [False, True])
def test_gradients_of_parameters_and_inputs(check: Any, requires_grad: bool) -> None:
    net = network()
    model = bucketed(net, LADDER, {"input": {0: "n"}}, inner="aot_eager", pad=[Pad("input", 0, 0.0)])
    for size in SIZES:
        check(
            net, model, lambda n=size: [torch.randn(n, 6, requires_grad=requires_grad)], [*net.parameters()]
        )
    assert served(model) == {"padded": 2, "exact": 2}


@pytest.mark.slow
def test_gradients_through_inductor(check: Any) -> None:
    net = network()
    model = bucketed(net, LADDER, {"input": {0: "n"}}, pad=[Pad("input", 0, 0.0)], fallback="eager")
    for size in SIZES:
        check(net, model, lambda n=size: [torch.randn(n, 6, requires_grad=True)], [*net.parameters()])
    assert served(model) == {"padded": 2, "exact": 2}


def test_a_loss_counts_real_rows_where_labels_are_padded_with_the_ignored_one(check: Any) -> None:
    net = network()

    def f(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(net(x), labels)

    dims: Any = {"x": {0: "n"}, "labels": {0: "n"}}
    model = bucketed(f, LADDER, dims, inner="aot_eager", pad=[*X0, Pad("labels", 0, -100)])
    for size in SIZES:
        check(f, model, lambda n=size: [torch.randn(n, 6), torch.randint(6, (n,))], [*net.parameters()])
    assert served(model) == {"padded": 2, "exact": 2}
    wrong = bucketed(f, LADDER, dims, inner="aot_eager", pad=[*X0, Pad("labels", 0, 0)])
    wrong(torch.randn(5, 6), torch.randint(6, (5,)))
    assert "pad its targets with ignore_index (-100)" in events(wrong, RungRefused)[0].reason


def test_an_input_written_in_place_is_written_for_the_caller(check: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def f(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x[:, 0].mul_(3)
        return x @ weight

    model = bucketed(f, LADDER, TOKENS, inner="aot_eager", pad=X0)
    for size in SIZES:
        check(f, model, lambda n=size: [torch.randn(n, 6)], [weight])
    assert served(model) == {"padded": 2, "exact": 2}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_write_to_what_is_no_leaf_reaches_its_gradient(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x.tanh()

    model = bucketed(f, LADDER, TOKENS, inner="aot_eager", pad=X0)

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            y = x * 1
            return function(y), y

        return call

    for size in SIZES:
        check(through(f), through(model), lambda n=size: [torch.randn(n, 6, requires_grad=True)])
    assert served(model) == {"padded": 2, "exact": 2}


def test_statistics_of_a_batch_norm_are_not_taken_from_padding(check: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6))
    model = bucketed(net, LADDER, {"input": {0: "n"}}, inner="aot_eager", pad=[Pad("input", 0, 0.0)])
    model(torch.randn(5, 6))
    refused = events(model, RungRefused)[0]
    assert "in training takes its statistics" in refused.reason
    net.eval()
    for size in SIZES:
        check(net, model, lambda n=size: [torch.randn(n, 6)], [*net.parameters()])
    assert served(model) == {"dynamic": 1, "padded": 2, "exact": 2}


def test_draws_are_stated_and_refused_where_equality_is_asked_for() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.5))
    stated = bucketed(net, LADDER, {"input": {0: "n"}}, inner="aot_eager", pad=[Pad("input", 0, 0.0)])
    assert stated(torch.randn(5, 6)).shape == (5, 6)
    assert served(stated) == {"padded": 1}
    made = [event for event in events(stated, RungCompiled) if event.kind == "pad"]
    assert "dropout" in made[0].random[0] or "bernoulli" in made[0].random[0]
    assert "draws others than unpadded" in str(stated.explain())
    torch._dynamo.reset()
    asked = bucketed(
        net, LADDER, {"input": {0: "n"}}, inner="aot_eager", pad=[Pad("input", 0, 0.0)], verify=True
    )
    asked(torch.randn(5, 6))
    assert "padding changes what is drawn" in events(asked, RungRefused)[0].reason
    assert served(asked) == {"dynamic": 1}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (x @ w).square().sum(-1).sqrt(),
        lambda x, w: (x @ w) / (x @ w).norm(dim=-1, keepdim=True),
        lambda x, w: (x @ w).abs().log(),
    ],
    ids=["sqrt", "division", "log"],
)
def test_a_slope_that_may_be_infinite_on_padding_is_refused_in_training(function: Any, check: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(6, 6))
    model = bucketed(lambda x: function(x, weight), LADDER, TOKENS, inner="aot_eager", pad=X0)
    for size in (5, 11):
        check(lambda x: function(x, weight), model, lambda n=size: [torch.randn(n, 6)], [weight])
    assert "zero times infinity reaches the gradients" in events(model, RungRefused)[0].reason
    with torch.no_grad():
        check(lambda x: function(x, weight), model, lambda: [torch.randn(5, 6)])
    assert served(model) == {"dynamic": 2, "padded": 1}


def ignoring(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Nothing of a row that the mask leaves out, whatever is in it."""
    return torch.where(m[:, None], x, 0.0).sum(0)


BESIDE_INFINITY: dict[str, Callable[..., Any]] = {
    "product": lambda x, m, w: ignoring(x * w[0], m),
    "matrix product": lambda x, m, w: ignoring(x @ w, m),
    "linear": lambda x, m, w: ignoring(F.linear(x, w), m),
    "norm": lambda x, m, w: ignoring(F.layer_norm(x + w[0], (6,)), m),
    "masked in between": lambda x, m, w: ignoring(F.silu(torch.where(m[:, None], x * w[0], -torch.inf)), m),
    "softmax of rows masked altogether": lambda x, m, w: ignoring((x + w[0]).softmax(1), m),
    "queries": lambda x, m, w: ignoring(
        F.scaled_dot_product_attention((x + w[0])[None], w[None], w[None])[0], m
    ),
}


@pytest.mark.parametrize("name", BESIDE_INFINITY)
def test_an_infinite_padded_row_whose_gradient_is_zero_is_refused(name: str, check: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return BESIDE_INFINITY[name](x, m, weight)

    model = padded(f, [Pad("x", 0, float("-inf")), Pad("m", 0, False)], fallback="eager")
    check(f, model, lambda: [torch.randn(5, 6), torch.ones(5, dtype=torch.bool)], [weight])
    assert "zero times infinity" in refusals(model)[0].reason or "masked" in refusals(model)[0].reason
    assert served(model) == {"eager": 1}


def test_what_no_gradient_flows_into_may_be_infinite(check: Any) -> None:
    """A mask is often a logarithm, or a division by how much of it there is."""
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return (x @ weight) * (m / m).nan_to_num()[:, None] * m.float().log().exp()[:, None]

    model = padded(f, XM, fallback="eager")
    for size in SIZES:
        check(f, model, lambda n=size: [torch.randn(n, 6), torch.ones(n, dtype=torch.bool)], [weight])
    assert served(model) == {"padded": 2, "exact": 2}


ATTENTION = torch.nn.MultiheadAttention(6, 2, batch_first=True)


def attended(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    both = torch.stack([x, x * 2])
    return ATTENTION(both, both, both, key_padding_mask=~m.expand(2, -1), need_weights=False)[0]


def biased(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """A mask that is added, and a constant that scales as it is often written."""
    bias = torch.zeros(m.shape).masked_fill(~m, float("-inf"))
    query = ATTENTION.out_proj(x)[None] / torch.sqrt(torch.tensor(6, dtype=torch.float))
    return F.scaled_dot_product_attention(query, query, query, attn_mask=bias[None, None])


@pytest.mark.parametrize("function", [attended, biased])
def test_gradients_through_attention_with_an_infinite_mask(function: Callable[..., Any], check: Any) -> None:
    model = padded(function, XM, fallback="eager")
    for size in SIZES:
        make = lambda n=size: [torch.randn(n, 6, requires_grad=True), torch.arange(n) != 1]  # noqa: E731
        check(function, model, make, [*ATTENTION.parameters()])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


@pytest.mark.parametrize(("dropout", "draws"), [(0.0, False), (0.5, True)])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.nn.MultiheadAttention(6, 2, batch_first=True, dropout=p),
        lambda p: torch.nn.TransformerEncoderLayer(6, 2, 12, p, batch_first=True, norm_first=True),
    ],
    ids=["attention", "layer"],
)
def test_attention_in_training_draws_only_with_dropout(
    make: Callable[[float], torch.nn.Module], dropout: float, draws: bool, check: Any
) -> None:
    """Its operators are tagged as random, whatever their dropout is."""
    net = make(dropout)

    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        both, left_out = torch.stack([x, x * 2]), ~m.expand(2, -1)
        if isinstance(net, torch.nn.MultiheadAttention):
            return net(both, both, both, key_padding_mask=left_out, need_weights=False)[0]
        return net(both, src_key_padding_mask=left_out)

    model = padded(f, XM, fallback="eager", verify=True)
    give = lambda: [torch.randn(5, 6, requires_grad=True), torch.arange(5) != 1]  # noqa: E731
    if draws:
        model(*give())
    else:
        check(f, model, give, [*net.parameters()])
        check(f, model, give, [*net.parameters()])
        assert served(model) == {"eager": 1, "padded": 1}  # the first call is compared
    assert [why for why in refusals(model) if "changes what is drawn" in why.reason] == refusals(model)
    assert bool(refusals(model)) is draws


def test_slopes_of_what_torch_does_not_call_pointwise(check: Any) -> None:
    slope = torch.nn.Parameter(torch.linspace(0.1, 0.6, 6))

    def f(x: torch.Tensor) -> torch.Tensor:
        return F.prelu(F.hardswish(x) + F.logsigmoid(x * 2), slope)

    model = padded(f, X0, fallback="eager")
    for size in SIZES:
        check(f, model, lambda n=size: [torch.randn(n, 6, requires_grad=True)], [slope])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def test_a_gradient_is_not_shared_out_among_padded_rows(check: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x @ weight).relu().amax(0)

    model = padded(f, X0, fallback="eager")
    check(f, model, lambda: [-torch.ones(5, 6)], [weight])
    assert "amax over padded rows needs a mask" in refusals(model)[0].reason
    with torch.no_grad():
        check(f, model, lambda: [torch.randn(5, 6)])
    assert served(model) == {"eager": 1, "padded": 1}


def test_verified_rungs_were_compared_with_the_unpadded_graph() -> None:
    net = network()
    model = bucketed(
        net, LADDER, {"input": {0: "n"}}, inner="aot_eager", pad=[Pad("input", 0, 0.0)], verify=True
    )
    model.warm_up(torch.randn(7, 6))
    compared = events(model, RungVerified)
    assert {(event.rung, event.sizes[0][1]) for event in compared} == {
        (rung, size) for rung, sizes in (("<=8", (7, 4, 2)), ("<=16", (15, 12, 9))) for size in sizes
    }
    assert max(event.difference for event in compared) < 1e-5
    assert served(model) == {}
    model(torch.randn(5, 6))
    assert served(model) == {"padded": 1}


def test_a_rung_that_gives_another_result_is_refused_and_the_call_is_served(caplog: Any) -> None:
    """The compiler is wrong about what it makes of a padded batch, which only a comparison can see."""

    def inner(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
        fixed = all(isinstance(size, int) for each in tensors for size in each.shape)
        return (lambda *a: [out + 1 for out in graph.forward(*a)]) if fixed else graph.forward

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    model = bucketed(f, LADDER, TOKENS, inner=inner, pad=X0, verify=True)
    x = torch.randn(5, 6)
    with torch.no_grad():
        torch.testing.assert_close(model(x), f(x))
        torch.testing.assert_close(model(x), f(x))
        torch.testing.assert_close(model(x), f(x))
    refused = events(model, RungRefused)
    assert [event.rung for event in refused] == ["<=8", "<=16"]
    assert "padded and unpadded disagree: output 0 differs" in refused[0].reason
    assert "is refused: output 0 differs" in caplog.text
    assert served(model) == {"eager": 2, "dynamic": 1}
