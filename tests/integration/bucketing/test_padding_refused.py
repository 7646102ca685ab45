"""What padding would make wrong is refused with the operation and the user's line, and still served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import (
    LADDER,
    POSITIONS,
    TABLE,
    WEIGHT,
    X1,
    Function,
    X,
    assert_refused,
    batched,
    heads,
    ids,
    padded,
    refusals,
    rows,
    served,
    with_mask,
)

from compilescope.bucketing import Pad, bucketed


def counts(n: int) -> list[torch.Tensor]:
    return [torch.arange(1, n + 1)]


def half(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x @ WEIGHT).float() + 0 * x.mean(0)


REFUSED: dict[str, tuple[Function, Callable[[int], list[Any]], list[Pad], str]] = {
    "sum": (lambda x: x.sum(0), rows, X, "sum over padded rows needs a mask that makes them 0"),
    "mean": (lambda x: x.mean(0), rows, [Pad("x", 0, 0.0)], "mean over padded rows counts them"),
    "mean of all": (lambda x: x.mean(), rows, [Pad("x", 0, 0.0)], "mean over padded rows counts them"),
    "deviation": (lambda x: x.std(0), rows, X, "std over padded rows counts them"),
    "softmax": (lambda x: x.softmax(0), rows, X, "_softmax over padded rows needs a mask"),
    "norm over rows": (lambda x: F.layer_norm(x.t(), (x.shape[0],)), rows, X, "layer_norm over padded rows"),
    "contraction": (lambda x: x.t() @ x, rows, X, "sums over padded rows: it needs a mask"),
    "divisor": (
        lambda x: 100 // x,
        counts,
        [Pad("x", 0, 0)],
        "divides integers by padded rows that may be 0",
    ),
    "divisor of a remainder": (
        lambda x: 100 % x,
        counts,
        [Pad("x", 0, 0)],
        "divides integers by padded rows that may be 0",
    ),
    "divisor that is rounded": (
        lambda x: torch.div(torch.full_like(x, 100), x * 2, rounding_mode="floor"),
        counts,
        [Pad("x", 0, 0)],
        "divides integers by padded rows that may be 0",
    ),
    "flip": (lambda x: x.flip(0), rows, X, "flip over padded rows moves them"),
    "roll": (lambda x: x.roll(1, 0), rows, X, "roll over padded rows moves them"),
    "sort": (lambda x: x.sort(0)[0], rows, X, "sort over padded rows moves them"),
    "topk": (lambda x: x.topk(2, 0)[0], rows, X, "topk over padded rows moves them"),
    "last row": (lambda x: (x * 2)[-1], rows, X, "select takes the last of padded rows"),
    "last rows": (lambda x: (x * 2)[-3:], rows, X, "slice counts from the end of padded rows"),
    "behind": (lambda x: torch.cat([x, x]), rows, X, "cat puts something behind padded rows"),
    "every other": (lambda x: (x * 2)[::2], rows, X, "slice takes a part of padded rows"),
    "size in arithmetic": (lambda x: x / x.shape[0], rows, X, "computes with the padded size as a number"),
    "size as a value": (
        lambda x: x * 0 + torch.full((6,), x.shape[0]),
        rows,
        X,
        "the padded size as a number",
    ),
    "attention": (
        lambda x: F.scaled_dot_product_attention(heads(x), heads(x), heads(x)),
        batched,
        X1,
        "over padded keys needs a mask that hides them",
    ),
    "a mask the wrong way round": (
        lambda x: F.scaled_dot_product_attention(
            x[None],
            x[None],
            x[None],
            attn_mask=torch.arange(x.shape[0])[None, :] >= torch.arange(x.shape[0])[:, None],
        ),
        rows,
        X,
        "over padded keys needs a mask that hides them",
    ),
    "looked up shifted": (
        lambda x: (x * 2)[torch.arange(1, x.shape[0])],
        rows,
        X,
        "index looks padded rows up by their number",
    ),
    "looked up": (lambda x: x[torch.tensor([0, -1])], rows, X, "index looks padded rows up by their number"),
    "bad index": (lambda x: F.embedding(x, TABLE), ids, [Pad("x", 0, 11)], "looks up entry 11 of 10"),
    "convolution": (
        lambda x: F.conv1d(x.transpose(1, 2), torch.ones(2, 6, 3), padding=1),
        batched,
        [Pad("x", 1, 0.5)],
        "convolution over padded rows reaches",
    ),
    "convolution of what is no longer zero": (
        lambda x: F.conv1d(x.transpose(1, 2) + 1, torch.ones(2, 6, 3), padding=1),
        batched,
        X1,
        "convolution over padded rows reaches",
    ),
    "convolution in steps": (
        lambda x: F.conv1d(x.transpose(1, 2), torch.ones(2, 6, 2), stride=2),
        batched,
        X1,
        "convolution over padded rows reaches",
    ),
    "batch norm": (
        lambda x: F.batch_norm(x, torch.zeros(6), torch.ones(6), training=True),
        rows,
        X,
        "in training takes its statistics",
    ),
    "a view in another type": (
        lambda x: (x.view(torch.int32), x * 2),
        rows,
        X,
        "output 0 is a view in another type",
    ),
    "loss": (lambda x: F.mse_loss(x, x * 2), rows, X, "mse_loss over padded rows counts them"),
    "places in a batch": (
        lambda x: x.argmax(),
        batched,
        [Pad("x", 1, float("-inf"))],
        "gives a place in rows",
    ),
    "a bound above alone": (
        lambda x: x.clamp(max=0.0).sum(0),
        rows,
        [Pad("x", 0, -1.0)],
        "sum over padded rows",
    ),
    "other bits": (
        lambda x: (x * 1).view(torch.int32).sum(0),
        rows,
        [Pad("x", 0, 0.0)],
        "sum over padded rows",
    ),
    "left half done": (
        lambda x: half(x).mean(0),
        rows,
        X,
        "mean over padded rows counts them",
    ),
    "smallest of what may be less": (lambda x: x.amin(0), rows, [Pad("x", 0, 0.0)], "amin over padded rows"),
    "place of a number that may be padding": (
        lambda x: (x == 0).int().argmax(0),
        ids,
        [Pad("x", 0, 0)],
        "argmax over padded rows",
    ),
    "reshaped in place": (
        lambda x: (x * 2).unsqueeze_(0),
        rows,
        X,
        "unsqueeze changes the shape of padded rows in place",
    ),
    "pooled rows": (
        lambda x: F.avg_pool2d(x, 2, 1),
        batched,
        X1,
        "avg_pool2d over padded rows reaches",
    ),
    "unknown": (lambda x: torch.fft.fft(x, dim=1).abs(), rows, X, "_fft_r2c is not known to keep rows apart"),
    "fixed": (lambda x: (x @ x.t()).diagonal(), rows, X, "diagonal is not known to keep rows apart"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_wrong_is_refused_and_still_served(name: str, check: Any) -> None:
    function, make, contracts, reason = REFUSED[name]
    assert_refused(check, function, make, contracts, reason)


def test_an_argument_without_a_contract_is_named() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    model = bucketed(f, LADDER, {"x": {0: "n"}, "y": {0: "n"}}, inner="aot_eager", pad=[Pad("x", 0)])
    x = torch.randn(5, 6)
    torch.testing.assert_close(model(x, x + 1), f(x, x + 1))
    assert "dimension 0 of y is n too, and no contract says how to pad it" in refusals(model)[0].reason


def test_a_value_that_the_type_has_not(check: Any) -> None:
    model = padded(lambda x: x + 1, [Pad("x", 0, 0.5)])
    check(lambda x: x + 1, model, lambda: ids(5))
    assert refusals(model)[0].reason == "x is torch.int64, which has no 0.5"


def test_a_rung_that_a_table_has_no_places_for(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + POSITIONS[:9][torch.arange(x.shape[0])]

    model = padded(f, X)
    with torch.no_grad():
        check(f, model, lambda: rows(5))
        check(f, model, lambda: rows(9))
    (refused,) = refusals(model)
    assert refused.rung == "<=16"
    assert "a table of the graph has places for 9 rows alone" in refused.reason
    assert "POSITIONS" in (refused.user_line or "")
    assert served(model) == {"padded": 1, "dynamic": 1}


def test_a_cache_is_not_written_beyond_the_real_rows(check: Any) -> None:
    def f(x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        cache[: x.shape[0]].copy_(x)
        return cache[:2] * 1

    model = padded(f, X)
    with torch.no_grad():
        for size in (5, 11):
            check(f, model, lambda n=size: [torch.randn(n, 6), torch.zeros(64, 6)])
    assert "writes padded rows into a part of a tensor" in refusals(model)[0].reason


def test_a_refusal_leaves_no_autocast_behind() -> None:
    model = padded(lambda x: half(x).mean(0), X)
    with torch.no_grad():
        model(torch.randn(5, 6))
    assert refusals(model)
    assert not torch.is_autocast_enabled("cpu")


def test_a_mask_that_an_unknown_operation_is_given_is_taken_on_trust_and_compared() -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vecdot(torch.fft.fft(x * m[:, None], dim=1).abs(), x)

    contracts = [Pad("x", 0, 0.0, mask="m"), Pad("m", 0, False)]
    with torch.no_grad():
        model = padded(f, contracts, verify=True)
        x, m = with_mask(5)
        torch.testing.assert_close(model(x, m), f(x, m))
        torch.testing.assert_close(model(x, m), f(x, m))
        assert refusals(model) == []
        assert served(model) == {"eager": 1, "padded": 1}
        torch._dynamo.reset()
        unverified = padded(f, contracts)
        torch.testing.assert_close(unverified(x, m), f(x, m))
    assert "is not known to heed its mask: verify=True compares" in refusals(unverified)[0].reason


@pytest.mark.parametrize("dim", [0, 1])
def test_rows_that_share_their_memory(dim: int, check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sum(0)

    model = padded(f, [Pad("x", 0, 0.0)])
    with torch.no_grad():
        for size in (5, 11):
            whole = torch.randn(1, 6) if dim == 0 else torch.randn(size, 1)
            check(f, model, lambda n=size, w=whole: [w.expand(n, 6)])
    assert "x is expanded: its entries share their memory" in refusals(model)[0].reason


def test_rows_that_are_cut_out_of_longer_ones(check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    model = padded(f, [Pad("x", 1, 0.0)])
    with torch.no_grad():
        for size in (5, 11):
            check(f, model, lambda n=size: [torch.randn(6, 12)[:, :n]])
    assert "x has a stride of its own" in refusals(model)[0].reason
