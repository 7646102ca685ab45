"""What can be padded gives eager's result: operation by operation, in one dimension and in two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import (
    LADDER,
    POSITIONS,
    SIZES,
    TABLE,
    WEIGHT,
    X1,
    XM,
    Function,
    X,
    batched,
    heads,
    ids,
    padded,
    places,
    refusals,
    rows,
    served,
    with_mask,
)

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder


def causal(x: torch.Tensor) -> torch.Tensor:
    out = F.scaled_dot_product_attention(heads(x), heads(x * 2), heads(x), is_causal=True)
    return out.transpose(1, 2).reshape(3, -1, 6)


def masked_attention(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    scores = (x @ x.t()).masked_fill(~m[None, :], float("-inf"))
    return scores.softmax(-1) @ x


def masked_sdpa(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q, attn_mask=m[None, None, None, :])[0, 0]


def causal_by_places(x: torch.Tensor) -> torch.Tensor:
    place = torch.arange(x.shape[0])
    mask = (place[None, :] <= place[:, None]) & torch.ones((), dtype=torch.bool)
    return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0]


def mask_by_places(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(
        x[None], x[None], x[None], attn_mask=m[torch.arange(x.shape[0])][None]
    )[0]


def masked_pool(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return (x * m[:, None]).sum(0) / m.sum()


def both_ways(scores: torch.Tensor) -> Any:
    """As CLIP gives its scores for texts and for images."""
    return scores.t(), scores, scores[0]


SLOPES = torch.linspace(0.1, 0.6, 6)


def rms_norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


ACCEPTED: dict[str, tuple[Function, Callable[[int], list[Any]], list[Pad]]] = {
    "pointwise": (lambda x: (x.tanh() * 2 + 1).relu(), rows, X),
    "not tagged as pointwise": (lambda x: F.hardswish(x) + F.logsigmoid(x) + (x * 8) // 2.0, rows, X),
    "integers divided": (lambda x: 100 // x, lambda n: [torch.arange(1, n + 1)], [Pad("x", 0, 1)]),
    "integers divided by a number": (lambda x: x // 3 + x % 3, ids, [Pad("x", 0, 0)]),
    "prelu": (lambda x: F.prelu(x, torch.tensor([0.1])), rows, X),
    "prelu of channels": (lambda x: F.prelu(x, SLOPES), rows, X),
    "bins": (lambda x: torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.5])), rows, X),
    "linear": (lambda x: F.linear(x, WEIGHT) @ WEIGHT, rows, X),
    "linear of a batch": (lambda x: F.linear(x, WEIGHT), batched, X1),
    "flattened and back": (lambda x: x.reshape(-1, 6).tanh().view(3, -1, 6), batched, X1),
    "flattened": (lambda x: (x @ WEIGHT).reshape(-1, 6), batched, X1),
    "transposed": (lambda x: (x * 1).t(), rows, X),
    "layer norm": (lambda x: F.layer_norm(x, (6,)), rows, X),
    "rms norm": (rms_norm, rows, X),
    "softmax over features": (lambda x: x.softmax(-1), rows, X),
    "positions": (lambda x: x + POSITIONS[: x.shape[0]], rows, X),
    "arange": (lambda x: x * torch.arange(x.shape[0])[:, None], rows, X),
    "embedding": (lambda x: F.embedding(x, TABLE), ids, [Pad("x", 0, 0)]),
    "one hot": (lambda x: F.one_hot(x, 10).float(), ids, [Pad("x", 0, 0)]),
    "a token in front": (lambda x: torch.cat([torch.ones(1, 6), x]) * 2, rows, X),
    "the first row": (lambda x: (x * 2)[0], rows, X),
    "the first rows": (lambda x: (x * 2)[:3], rows, X),
    "all but the first": (lambda x: (x * 2)[1:], rows, X),
    "all but the last": (lambda x: (x * 2)[:-1], rows, X),
    "columns in pieces": (lambda x: torch.cat(x.chunk(2, 1)[::-1], 1), rows, X),
    "stacked": (lambda x: torch.stack([x, x * 2], 1), rows, X),
    "running sum": (lambda x: x.cumsum(0), rows, X),
    "causal attention": (causal, batched, X1),
    "sum over zeros": (lambda x: (x * 3).sum(0), rows, [Pad("x", 0, 0.0)]),
    "largest over minus infinity": (lambda x: x.amax(0), rows, [Pad("x", 0, float("-inf"))]),
    "gram matrix of zeros": (lambda x: x.t() @ x, rows, [Pad("x", 0, 0.0)]),
    "masked attention": (masked_attention, with_mask, XM),
    "masked sdpa": (masked_sdpa, with_mask, XM),
    "causal mask by places": (causal_by_places, rows, X),
    "mask looked up by places": (mask_by_places, with_mask, XM),
    "masked mean": (masked_pool, with_mask, XM),
    "sort features": (lambda x: x.sort(1)[0], rows, X),
    "triangle": (lambda x: (x @ x.t()).tril(), rows, X),
    "largest of what is never less": (lambda x: x.relu().amax(0), rows, [Pad("x", 0, 0.0)]),
    "smallest of what is never more": (lambda x: (-x.relu()).amin(0), rows, [Pad("x", 0, 0.0)]),
    "place of the end": (lambda x: (x == 3).int().argmax(0), ids, [Pad("x", 0, 0)]),
    "place of the last one that counts": (
        lambda x: ((x != 0) * places(x)).argmax(0),
        ids,
        [Pad("x", 0, 0)],
    ),
    "what is not there in front": (lambda x: x[:1] + torch.zeros(x.shape[0], 6), rows, X),
    "identity": (lambda x: (x * 2, torch.eye(x.shape[0]) * 2), rows, X),
    "entries at the end": (
        lambda x, i: (x * 2)[torch.arange(3), (i == 3).int().argmax(1)],
        lambda n: [torch.randn(3, n, 6), torch.randint(0, 10, (3, n))],
        [Pad("x", 1, 0.0), Pad("i", 1, 0)],
    ),
    "entries at the largest": (
        lambda x: (x * 2).gather(0, x.max(0, keepdim=True)[1]),
        rows,
        [Pad("x", 0, float("-inf"))],
    ),
    "pooled images": (
        lambda x: F.interpolate(F.max_pool2d(x.view(-1, 1, 2, 3), 2), scale_factor=2.0).flatten(1),
        rows,
        X,
    ),
    "convolution of kernel 1": (
        lambda x: F.conv1d(x.transpose(1, 2) + 1, torch.ones(2, 6, 1)),
        batched,
        [Pad("x", 1, 0.5)],
    ),
    "causal convolution": (
        lambda x: F.conv1d(F.pad(x.transpose(1, 2) + 1, (4, 0)), torch.randn(6, 1, 3), dilation=2, groups=6),
        batched,
        [Pad("x", 1, 0.5)],
    ),
    "convolution of zeros": (
        lambda x: F.conv1d(x.transpose(1, 2) * 2, torch.ones(2, 6, 3), padding=2).tanh(),
        batched,
        X1,
    ),
    "a view of an input": (lambda x: (x[1:], x.t(), x[0], x * 2), rows, X),
    "a view of an output": (lambda x: both_ways(x @ WEIGHT @ x.t()), rows, X),
    "a view of a transposed output": (lambda x: both_ways((x @ WEIGHT)[1:].t()), rows, X),
    "a size as output": (lambda x: (x * 2, x.shape[0] * 2 + 1), rows, X),
    "loss of each row": (lambda x: F.mse_loss(x, x * 2, reduction="none"), rows, X),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_padded_equals_eager(name: str, check: Any) -> None:
    function, make, contracts = ACCEPTED[name]
    model = padded(function, contracts)
    with torch.no_grad():
        for size in SIZES:
            check(function, model, lambda n=size: make(n))
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def test_one_name_that_is_two_sizes_in_a_call_is_not_padded(check: Any) -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> Any:
        return x * 2, m.logical_not()

    model = padded(f, XM)
    with torch.no_grad():
        check(f, model, lambda: [torch.randn(5, 6), torch.ones(5, dtype=torch.bool)])
        check(f, model, lambda: [torch.randn(5, 6), torch.ones(6, dtype=torch.bool)])
        check(f, model, lambda: [torch.randn(7, 6), torch.ones(7, dtype=torch.bool)])
    assert served(model)["padded"] >= 1
    assert served(model).get("dynamic", 0) >= 1


def test_two_names_padded_together(check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.tanh().reshape(-1, 6) @ WEIGHT, x.transpose(0, 1) * 2, x.shape[0] * x.shape[1]

    ladders = {"b": BucketLadder.pads([4]), "n": LADDER}
    dims: dict[str, dict[int, str | None]] = {"x": {0: "b", 1: "n"}}
    contracts = [Pad("x", 0, 1.0), Pad("x", 1, 2.0)]
    model = bucketed(f, ladders, dims, inner="aot_eager", pad=contracts)
    with torch.no_grad():
        for batch, size in ((3, 5), (4, 5), (2, 16), (4, 16), (3, 11)):
            check(f, model, lambda b=batch, n=size: [torch.randn(b, n, 6)])
    assert refusals(model) == []
    assert served(model) == {"padded": 4, "exact": 1}


LAYOUTS: dict[str, Callable[[int], torch.Tensor]] = {
    "transposed": lambda n: torch.randn(6, n).t(),
    "columns of a wider one": lambda n: torch.randn(n, 9)[:, 1:7],
    "with an offset": lambda n: torch.randn(n + 7, 6)[4 : 4 + n],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_padded_input_keeps_its_layout(layout: str, check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.tanh() * 2, x.t().contiguous() @ WEIGHT.new_zeros(x.shape[0], 2)

    model = padded(f, [Pad("x", 0, 0.0)])
    for size in SIZES:
        check(f, model, lambda n=size: [LAYOUTS[layout](n).requires_grad_()])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def test_a_square_mask_is_padded_along_both_of_its_dimensions(check: Any) -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=m)[0]

    def make(n: int) -> list[Any]:
        return [torch.randn(n, 6), torch.ones(n, n).tril().bool()]

    model = padded(f, [Pad("x", 0, 0.0), Pad("m", 0, False), Pad("m", 1, False)])
    with torch.no_grad():
        for size in SIZES:
            check(f, model, lambda n=size: make(n))
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def test_another_dimension_stays_free(check: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return (x @ WEIGHT).reshape(-1, 6) * 2, x.sum(0)

    model = bucketed(f, {"n": LADDER}, {"x": {0: None, 1: "n"}}, inner="aot_eager", pad=[Pad("x", 1, 3.0)])
    with torch.no_grad():
        for batch, size in ((3, 5), (4, 11), (2, 16)):
            check(f, model, lambda b=batch, n=size: [torch.randn(b, n, 6)])
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 1}
