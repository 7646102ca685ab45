"""Training through padded rungs on a real device, where attention has kernels of its own, against eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungRefused

from .device import ON_A_DEVICE

pytestmark = ON_A_DEVICE

WIDTH, HEADS = 64, 4
Attend = Callable[[torch.nn.MultiheadAttention, torch.Tensor, torch.Tensor], torch.Tensor]


def masked_keys(layer: torch.nn.MultiheadAttention, x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    both = torch.stack([x, x * 2])
    return layer(both, both, both, key_padding_mask=~m.expand(2, -1), need_weights=False)[0]


def masked_keys_before(layer: torch.nn.MultiheadAttention, x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    both = torch.stack([x, x * 2])
    later = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool, device=x.device).triu(1)
    hidden = ~m.expand(2, -1)
    return layer(both, both, both, key_padding_mask=hidden, attn_mask=later, need_weights=False)[0]


def added_mask(layer: torch.nn.MultiheadAttention, x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    bias = torch.zeros(m.shape, device=x.device).masked_fill(~m, float("-inf"))
    query = layer.out_proj(x)[None]
    return F.scaled_dot_product_attention(query, query, query, attn_mask=bias[None, None])


# For its kernels on a device torch pads a layer's mask to aligned rows and cuts that off again.
@pytest.mark.parametrize("inner", ["aot_eager", "inductor"])
@pytest.mark.parametrize("attend", [masked_keys, masked_keys_before, added_mask])
def test_gradients_through_attention_with_an_infinite_mask(attend: Attend, inner: str) -> None:
    layer = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, device="cuda")
    model = bucketed(
        lambda x, m: attend(layer, x, m),
        BucketLadder.pads([16, 32]),
        {"x": {0: "n"}, "m": {0: "n"}},
        pad=[Pad("x", 0, 0.0), Pad("m", 0, False)],
        inner=inner,
        fallback="eager",
    )
    for size in (5, 16, 27, 32):
        x, m = torch.randn(size, WIDTH, device="cuda"), torch.arange(size, device="cuda") != 1
        found = []
        for function in (model, lambda x, m: attend(layer, x, m)):
            layer.zero_grad()
            leaf = x.clone().requires_grad_()
            y = function(leaf, m)
            y.sin().sum().backward()
            gradients = [each.grad for each in layer.parameters() if each.grad is not None]
            found.append([y, leaf.grad, *gradients])
        for mine, eager in zip(*found, strict=True):
            torch.testing.assert_close(mine, eager, rtol=1e-3, atol=1e-4)
    assert not [event for event in model.backend.events() if isinstance(event, RungRefused)]
    served = {count.outcome for count in model.backend.dispatch_counts() if count.count}
    assert served == {"padded", "exact"}
