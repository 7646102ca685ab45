"""Rows that are filled up to a size, as kernels want them: padded where nothing but real rows counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import (
    SIZES,
    WEIGHT,
    X1,
    XM,
    Function,
    X,
    assert_refused,
    batched,
    padded,
    refusals,
    rows,
    served,
    with_mask,
)

from compilescope.bucketing import Pad

FEATURES = torch.nn.Parameter(torch.randn(6, 6))

LOWEST = torch.finfo(torch.float32).min


def up(x: torch.Tensor, by: int, value: float = 0.0) -> torch.Tensor:
    """Longer by so many rows."""
    return F.pad(x, (0, 0, 0, by), value=value)


def to_16(x: torch.Tensor, value: float = 0.0) -> torch.Tensor:
    return up(x, -x.shape[0] % 16, value)


def hidden(m: torch.Tensor) -> torch.Tensor:
    return torch.zeros(m.shape).masked_fill(~m, LOWEST)


def aligned(bias: torch.Tensor, step: int) -> torch.Tensor:
    """What torch makes of a mask for its kernels on a GPU: the same entries, in memory of aligned rows."""
    size = bias.shape[-1]
    return F.pad(bias, (0, step - size % step))[..., :size]


def aligned_mask(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    q = x @ FEATURES
    scores = q @ x.t() + aligned(hidden(m), 16).expand(x.shape[0], x.shape[0])
    return scores.softmax(-1) @ x


def aligned_mask_of_heads(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    q = (x @ FEATURES).view(-1, 2, 3).transpose(0, 1)
    bias = aligned(hidden(m)[None, None, :].expand(2, 1, -1).contiguous(), 8)
    return ((q @ q.transpose(1, 2) + bias).softmax(-1) @ q).transpose(0, 1).reshape(-1, 6)


def aligned_keys(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Scores over as many keys as a kernel wants, none of which counts that is none."""
    keys = to_16(x @ FEATURES)
    bias = F.pad(hidden(m), (0, -m.shape[0] % 16), value=LOWEST)
    return (x @ keys.t() + bias).softmax(-1) @ keys


def aligned_keys_of_torch(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    keys, by = (x @ FEATURES)[None], -x.shape[0] % 16
    keys = F.pad(keys, (0, 0, 0, by))
    return F.scaled_dot_product_attention(x[None], keys, keys, attn_mask=F.pad(m, (0, by))[None])[0]


def causal(x: torch.Tensor) -> torch.Tensor:
    q = to_16(x @ FEATURES)[None]
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)[0, : x.shape[0]]


def in_a_buffer(x: torch.Tensor) -> torch.Tensor:
    by = -x.shape[0] % 16
    behind = x.new_zeros(by, 6)
    return torch.cat([x @ FEATURES, behind]).tanh()[: x.shape[0]]


def written_into_a_buffer(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[0]
    buffer = torch.zeros(n + -n % 16, 6)
    buffer[:n] = x @ FEATURES
    return buffer[:n] * 2


def layered(x: torch.Tensor) -> torch.Tensor:
    y = F.layer_norm(F.linear(to_16(x), FEATURES), (6,)).softmax(-1)
    return (y.view(-1, 2, 3).transpose(0, 1) * 2).transpose(0, 1).reshape(-1, 6)[: x.shape[0]]


def cut_in_two_steps(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[0]
    longer = up(up(x @ FEATURES, 8 - n % 8, 3.0), 4, 5.0)
    return longer[: n + 1].sin()[:n]


ACCEPTED: dict[str, tuple[Function, Callable[[int], list[Any]], list[Pad]]] = {
    "an aligned mask": (aligned_mask, with_mask, XM),
    "an aligned mask of heads": (aligned_mask_of_heads, with_mask, XM),
    "aligned keys": (aligned_keys, with_mask, XM),
    "aligned keys of torch": (aligned_keys_of_torch, with_mask, XM),
    "aligned and causal": (causal, rows, X),
    "by the rest": (lambda x: up(x @ FEATURES, (8 - x.shape[0] % 8) % 8, 2.0)[: x.shape[0]], rows, X),
    "to a multiple": (
        lambda x: up(x @ FEATURES, (x.shape[0] + 15) // 16 * 16 - x.shape[0]).tanh()[: x.shape[0]],
        rows,
        X,
    ),
    "to a rounded multiple": (
        lambda x: up(x @ FEATURES, math.ceil(x.shape[0] / 16) * 16 - x.shape[0])[: x.shape[0]] * 2,
        rows,
        X,
    ),
    "to no less than": (lambda x: up(x @ FEATURES, max(32 - x.shape[0], 0), 1.0)[: x.shape[0]], rows, X),
    "by a fixed number": (lambda x: up(x @ FEATURES, 3, 2.0).exp()[: x.shape[0]], rows, X),
    "constants behind": (in_a_buffer, rows, X),
    "a fixed number of constants behind": (
        lambda x: torch.cat([torch.ones(1, 6), x @ FEATURES, torch.ones(2, 6)])[1 : x.shape[0] + 1],
        rows,
        X,
    ),
    "written into a buffer": (written_into_a_buffer, rows, X),
    "cut by a negative amount": (
        lambda x: up(to_16(x @ FEATURES, 2.0).cos(), -(-x.shape[0] % 16)),
        rows,
        X,
    ),
    "cut in two steps": (cut_in_two_steps, rows, X),
    "cut to less": (lambda x: to_16(x @ FEATURES, 2.0).sin()[1 : x.shape[0] - 1], rows, X),
    "layers between": (layered, rows, X),
    "summed": (lambda x: (to_16(x * 3) @ FEATURES).sum(0), rows, [Pad("x", 0, 0.0)]),
    "in another type": (
        lambda x: (to_16(x @ FEATURES).double() + 1).float()[: x.shape[0]],
        rows,
        X,
    ),
    "columns": (
        lambda x: F.pad(x.transpose(1, 2) * 2, (0, -x.shape[1] % 8))[..., : x.shape[1]],
        batched,
        X1,
    ),
    "stacked beside its like": (
        lambda x: torch.stack([to_16(x @ FEATURES), to_16(x)]).prod(0)[: x.shape[0]],
        rows,
        X,
    ),
    "beside others that are cut to its size": (
        lambda x: (to_16(x) + up(x, 32 - x.shape[0] % 16)[: x.shape[0] + -x.shape[0] % 16] @ FEATURES)[
            : x.shape[0]
        ],
        rows,
        X,
    ),
    "places": (
        lambda x: (x @ FEATURES) * F.pad(torch.arange(x.shape[0]), (0, -x.shape[0] % 16))[: x.shape[0], None],
        rows,
        X,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_forward_and_gradients_equal_eager(name: str, check: Any) -> None:
    function, make, contracts = ACCEPTED[name]
    model = padded(function, contracts, fallback="eager")
    for size in SIZES:
        check(function, model, lambda n=size: [_leaf(each) for each in make(n)], [FEATURES])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def _leaf(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.requires_grad_() if is_float else value


REFUSED: dict[str, tuple[Function, Callable[[int], list[Any]], list[Pad], str]] = {
    "handed out": (lambda x: to_16(x), rows, X, "output 0 has padded rows that are filled up to a size"),
    "in front": (
        lambda x: F.pad(x, (0, 0, -x.shape[0] % 16, 0))[-x.shape[0] % 16 :],
        rows,
        X,
        "constant_pad_nd pads by the padded size",
    ),
    "another dimension": (
        lambda x: F.pad(x, (0, -x.shape[0] % 16))[:, :6],
        rows,
        X,
        "constant_pad_nd pads by the padded size",
    ),
    "the first rows of what is filled up": (
        lambda x: to_16(x, 2.0)[:4] * 2,
        rows,
        X,
        "slice takes a part of padded rows that may reach into what they are filled up with",
    ),
    "one row of what is filled up": (lambda x: to_16(x)[3] * 2, rows, X, "select takes one entry"),
    "the last row of what is filled up": (lambda x: to_16(x)[-1] * 2, rows, X, "select takes the last"),
    "half of what is filled up": (
        lambda x: to_16(x)[: (x.shape[0] + 15) // 16 * 8] * 2,
        rows,
        X,
        "slice takes a part of padded rows that may reach into",
    ),
    "without its first row": (
        lambda x: to_16(x, 2.0)[1:] * 2,
        rows,
        X,
        "slice takes a part of padded rows that may reach into",
    ),
    "windows of it": (
        lambda x: (to_16(x).view(-1, 4, 6) * 2).view(-1, 6)[: x.shape[0]],
        rows,
        X,
        "view gives padded rows a shape that cuts through them",
    ),
    "folded": (
        lambda x: F.pad(x, (0, 0, 0, -x.shape[1] % 8)).reshape(-1, 6) * 2,
        batched,
        X1,
        "view gives padded rows a shape that cuts through them",
    ),
    "filled up with what counts": (
        lambda x: to_16(x, 1.0).sum(0),
        rows,
        [Pad("x", 0, 0.0)],
        "sum over padded rows needs a mask that makes them 0",
    ),
    "filled up where the mask shows": (
        lambda x, m: (x @ to_16(x).t() + F.pad(hidden(m), (0, -m.shape[0] % 16))).softmax(-1) @ to_16(x),
        with_mask,
        XM,
        "_softmax over padded rows needs a mask that makes them -inf",
    ),
    "padded rows that count, cut back": (
        lambda x: to_16(x)[: x.shape[0]].sum(0),
        rows,
        X,
        "sum over padded rows needs a mask that makes them 0",
    ),
    "its mean": (lambda x: to_16(x).mean(0), rows, [Pad("x", 0, 0.0)], "mean over padded rows counts them"),
    "turned round": (
        lambda x: to_16(x).flip(0)[-x.shape[0] % 16 :],
        rows,
        X,
        "flip is given padded rows that are filled up to a size",
    ),
    "by no fixed step": (
        lambda x: up(x, 40 - x.shape[0])[: x.shape[0]] * 2,
        rows,
        X,
        "constant_pad_nd pads by an amount that may be negative at some size",
    ),
    "rows behind rows": (
        lambda x: torch.cat([x, x.tanh()])[: x.shape[0]],
        rows,
        X,
        "cat puts something behind padded rows",
    ),
    "something unknown behind": (
        lambda x: torch.cat([x, WEIGHT])[: x.shape[0]],
        rows,
        X,
        "cat puts something behind padded rows",
    ),
    "convolved": (
        lambda x: F.conv1d(F.pad(x.transpose(1, 2), (0, -x.shape[1] % 8)), torch.ones(2, 6, 1))[
            ..., : x.shape[1]
        ],
        batched,
        X1,
        "convolution is given padded rows that are filled up to a size",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_count_more_than_real_rows_is_refused(name: str, check: Any) -> None:
    assert_refused(check, *REFUSED[name])
