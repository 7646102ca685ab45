"""Masks that a model makes of places: right ones hide padded keys, and those that are one off are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import SIZES, WEIGHT, X, attention_where, padded, places, refusals, rows, served

from compilescope.bucketing import Pad

Mask = Callable[[torch.Tensor], torch.Tensor]


def square(x: torch.Tensor, value: float = 1.0) -> torch.Tensor:
    return torch.full((x.shape[0], x.shape[0]), value)


def earlier(x: torch.Tensor) -> torch.Tensor:
    return places(x)[None, :] <= places(x)[:, None]


def window(x: torch.Tensor, width: int) -> torch.Tensor:
    return earlier(x) & (places(x)[None, :] > places(x)[:, None] - width)


HIDES: dict[str, Mask] = {
    "by places": earlier,
    "by places, the other way round": lambda x: places(x)[:, None] >= places(x)[None, :],
    "strictly, and itself": lambda x: (
        (places(x)[None] < places(x)[:, None]) | (places(x)[None] == places(x)[:, None])
    ),
    "as numbers": lambda x: earlier(x).float() > 0.5,
    "a window": lambda x: window(x, 3),
    "a lower triangle": lambda x: square(x).tril().bool(),
    "a lower triangle without its diagonal": lambda x: (square(x).tril(-1) + torch.eye(x.shape[0])) > 0,
    "not an upper triangle": lambda x: ~square(x).triu(1).bool(),
    "where an upper triangle is 0": lambda x: square(x).triu(1) == 0,
}

SHOWS: dict[str, Mask] = {
    "by places, one too many": lambda x: places(x)[None, :] <= places(x)[:, None] + 1,
    "later ones": lambda x: places(x)[None, :] >= places(x)[:, None],
    "an or": lambda x: earlier(x) | (places(x)[None, :] > 3),
    "a lower triangle, one too many": lambda x: square(x).tril(1).bool(),
    "an upper triangle": lambda x: square(x).triu().bool(),
    "not an upper triangle, one too many": lambda x: ~square(x).triu(2).bool(),
    "not a lower triangle": lambda x: ~square(x).tril(-1).bool(),
    "counted in a type that rounds": lambda x: (
        places(x).to(torch.bfloat16)[None, :] <= places(x).to(torch.bfloat16)[:, None]
    ),
}


def sdpa(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0]


def added(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    scores = (x @ x.t()) * 0.5 + torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
    return scores.softmax(-1) @ x


ATTENTION: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "written out": attention_where,
    "added to the scores": added,
    "of torch": sdpa,
}


@pytest.mark.parametrize("attention", ATTENTION)
@pytest.mark.parametrize("mask", HIDES)
def test_a_mask_that_hides_padded_keys(mask: str, attention: str, check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return ATTENTION[attention](x @ WEIGHT, HIDES[mask](x))

    model = padded(f, X, fallback="eager")
    with torch.no_grad():
        for size in (2, *SIZES):
            check(f, model, lambda n=size: rows(n))
    assert refusals(model) == []
    assert served(model) == {"padded": 3, "exact": 2}


@pytest.mark.parametrize("attention", ATTENTION)
@pytest.mark.parametrize("mask", SHOWS)
def test_a_mask_that_shows_a_padded_key_is_refused(mask: str, attention: str, check: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return ATTENTION[attention](x @ WEIGHT, SHOWS[mask](x))

    model = padded(f, X, fallback="eager")
    with torch.no_grad():
        check(f, model, lambda: rows(5))
    assert "needs a mask" in refusals(model)[0].reason
    assert served(model) == {"eager": 1}


@pytest.mark.parametrize("mask", ["by places", "a lower triangle", "a window"])
@pytest.mark.parametrize("attention", ATTENTION)
def test_gradients_behind_a_mask_by_places(mask: str, attention: str, check: Any) -> None:
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def f(x: torch.Tensor) -> torch.Tensor:
        return ATTENTION[attention](x @ weight, HIDES[mask](x))

    model = padded(f, X, fallback="eager")
    for size in SIZES:
        check(f, model, lambda n=size: rows(n), [weight])
    if (mask, attention) == ("a window", "written out"):
        # That a padded query sees a key at all is known of one comparison, not of two.
        assert "zero times infinity" in refusals(model)[0].reason
    else:
        assert served(model) == {"padded": 2, "exact": 2}


def test_keys_that_are_fewer_than_their_queries_are_refused(check: Any) -> None:
    """The last real query would see the first padded key, which the unpadded graph does not have."""

    def f(x: torch.Tensor) -> torch.Tensor:
        keys, seen = x[:-1] * 1, places(x)[None, :-1] <= places(x)[:, None]
        return (x @ keys.t()).masked_fill(~seen, float("-inf")).softmax(-1) @ keys

    model = padded(f, X, fallback="eager")
    with torch.no_grad():
        check(f, model, lambda: rows(5))
    assert "needs a mask" in refusals(model)[0].reason


@pytest.mark.parametrize("queries", [4, 1])
def test_queries_of_a_fixed_number_are_not_causal_over_padded_keys(queries: int, check: Any) -> None:
    latent = torch.randn(1, queries, 6)

    def f(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(latent, x[None], x[None], is_causal=True)

    model = padded(f, X, fallback="eager")
    with torch.no_grad():
        for size in (2, 5):
            check(f, model, lambda n=size: rows(n))
    assert "is causal over queries and keys that do not belong together" in refusals(model)[0].reason


LAYER = torch.nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True).eval()


def with_mask_of_batch(n: int) -> list[torch.Tensor]:
    return [torch.randn(3, n, 6), torch.ones(3, n, dtype=torch.bool)]


def test_the_fast_path_of_torchs_layer_takes_a_mask_that_hides(check: Any) -> None:
    contracts = [Pad("x", 1, 0.0), Pad("m", 1, False)]

    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return LAYER(x, src_key_padding_mask=~m)

    model = padded(f, contracts, fallback="eager")
    with torch.no_grad():
        for size in SIZES:
            check(f, model, lambda n=size: with_mask_of_batch(n))
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


@pytest.mark.parametrize("masked", ["not at all", "the wrong way round"])
def test_the_fast_path_of_torchs_layer_is_refused_where_keys_are_seen(masked: str, check: Any) -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return LAYER(x, src_key_padding_mask=None if masked == "not at all" else m & False) * m[..., None]

    model = padded(f, [Pad("x", 1, 0.0), Pad("m", 1, False)], fallback="eager")
    with torch.no_grad():
        check(f, model, lambda: with_mask_of_batch(5))
    assert "over padded keys needs a mask that hides them" in refusals(model)[0].reason
