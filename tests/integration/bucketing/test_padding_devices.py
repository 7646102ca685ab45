"""One verdict on every device: what attention becomes on a GPU is padded where it is padded on a CPU.

torch's attention is another graph on each device. Those of a GPU are run here by hand: as operators that a
CPU has too, forward and backward, against eager; as the GPU's own operators on fake tensors, which no kernel
runs for. Only the last test needs a CUDA build of torch, for what that build itself would choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from padding_setup import SIZES, Function, padded, refusals, served
from torch._subclasses.fake_tensor import FakeTensor

from compilescope.bucketing import Pad
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.padding import rungs
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.inspect import inspect_padding

WIDTH, HEADS = 32, 4
OF_TORCH = F.scaled_dot_product_attention

Attention = Callable[..., torch.Tensor]


def as_keys(mask: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor, step: int) -> torch.Tensor | None:
    """As torch hands a mask to a GPU's kernels: added to the scores, of aligned rows, one for each pair."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, float("-inf"))
    size = mask.shape[-1]
    mask = F.pad(mask, (0, step - size % step))[..., :size]
    return mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])


def aligned(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False) -> Any:
    return OF_TORCH(q, k, v, as_keys(mask, q, k, 8), dropout, causal)


def written_out(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False) -> Any:
    return torch.ops.aten._scaled_dot_product_attention_math(q, k, v, mask, dropout, causal)[0]


def efficient(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False) -> Any:
    bias = as_keys(mask, q, k, 8)
    return torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, bias, False, dropout, causal)[0]


def cudnn(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False) -> Any:
    bias = as_keys(mask, q, k, 16)
    return torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, bias, False, dropout, causal)[0]


def flash(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False) -> Any:
    """It takes no mask, and heads of a multiple of 8 features."""
    if mask is not None:
        return efficient(q, k, v, mask, dropout, causal)
    width = q.shape[-1]
    q, k, v = (F.pad(each, (0, -width % 8 or 8)) for each in (q, k, v))
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, dropout, causal)[0][..., :width]


OF_A_CPU_TOO: dict[str, Attention] = {"aligned": aligned, "written out": written_out}
OF_A_GPU: dict[str, Attention] = {"efficient": efficient, "cudnn": cudnn, "flash": flash}


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> Callable[[Attention], None]:
    """Makes torch's layers attend so, and the GPU's operators on fake tensors alone."""

    def use(chosen: Attention) -> None:
        def attend(q: Any, *others: Any, **named: Any) -> Any:
            names = {"attn_mask": "mask", "dropout_p": "dropout", "is_causal": "causal"}
            runs = chosen in OF_A_CPU_TOO.values() or isinstance(q, FakeTensor)
            return (
                chosen(q, *others, **{names[n]: a for n, a in named.items()})
                if runs
                else OF_TORCH(q, *others, **named)
            )

        monkeypatch.setattr(F, "scaled_dot_product_attention", attend)

    return use


def layer(kind: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return kind(WIDTH, HEADS, batch_first=True, **options)


MHA = layer(torch.nn.MultiheadAttention)
DROPS = layer(torch.nn.MultiheadAttention, dropout=0.5)
ENCODER = layer(torch.nn.TransformerEncoderLayer, dim_feedforward=16, dropout=0.0)
DECODER = layer(torch.nn.TransformerDecoderLayer, dim_feedforward=16, dropout=0.0)
FAST = layer(torch.nn.TransformerEncoderLayer, dim_feedforward=16, dropout=0.0).eval()


def later(x: torch.Tensor) -> torch.Tensor:
    size = x.shape[1]
    return torch.ones(size, size, dtype=torch.bool, device=x.device).triu(1)


def keys(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, key_padding_mask=~m, need_weights=False)[0]


def wrong_keys(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, key_padding_mask=m & (x[..., 0] > 9), need_weights=False)[0]


def all_keys(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, need_weights=False)[0] * m[..., None]


def stacked(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    both = torch.stack([x[0], x[1] * 2])
    return MHA(both, both, both, key_padding_mask=~m[:1].expand(2, -1), need_weights=False)[0]


def causal(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, attn_mask=later(x), is_causal=True, need_weights=False)[0] * m[..., None]


def causal_mask(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, attn_mask=later(x), need_weights=False)[0] * m[..., None]


def causal_keys(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return MHA(x, x, x, key_padding_mask=~m, attn_mask=later(x), need_weights=False)[0]


def encoder(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return ENCODER(x, src_key_padding_mask=~m)


def fast_encoder(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return FAST(x, src_key_padding_mask=~m)


def decoder(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return DECODER(x, x, tgt_key_padding_mask=~m, memory_key_padding_mask=~m)


def dropped(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return DROPS(x, x, x, key_padding_mask=~m, need_weights=False)[0]


PADDED: dict[str, Function] = {
    "keys": keys,
    "stacked": stacked,
    "causal": causal,
    "causal mask": causal_mask,
    "causal keys": causal_keys,
    "encoder": encoder,
    "encoder in evaluation": fast_encoder,
    "decoder": decoder,
}
SEEN = "needs a mask"
REFUSED: dict[str, Function] = {"wrong keys": wrong_keys, "all keys": all_keys}
DRAWS: dict[str, Function] = {"dropout": dropped}

CONTRACTS = [Pad("x", 1, 0.0), Pad("m", 1, False)]
PARAMETERS = [p for each in (MHA, DROPS, ENCODER, DECODER, FAST) for p in each.parameters()]


def make(size: int) -> list[torch.Tensor]:
    mask = torch.ones(2, size, dtype=torch.bool)
    mask[1, size // 2] = False
    return [torch.randn(2, size, WIDTH).requires_grad_(), mask]


@pytest.mark.parametrize("kernel", OF_A_CPU_TOO)
@pytest.mark.parametrize("name", PADDED)
def test_layers_of_torch_are_padded_and_equal_eager(
    name: str, kernel: str, attention: Callable[[Attention], None], check: Any
) -> None:
    attention(OF_A_CPU_TOO[kernel])
    model = padded(PADDED[name], CONTRACTS, fallback="eager")
    for size in SIZES:
        check(PADDED[name], model, lambda n=size: make(n), PARAMETERS)
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


@contextmanager
def looked_at(monkeypatch: pytest.MonkeyPatch, *devices: str) -> Iterator[list[str]]:
    """A verdict for each device that the tensors of a graph are taken to be on; no rung is compiled."""
    found: list[str] = []

    def look(captured: CapturedGraph, *others: Any) -> Any:
        for device in devices:
            try:
                inspect_padding(moved(captured, device), *others)
            except PaddingRefusedError as refused:
                reason = refused.reason.partition(" ")[2]
                found.append(SEEN if SEEN in reason else reason)
            else:
                found.append("padded")
        raise PaddingRefusedError("is only looked at")

    with monkeypatch.context() as patched:
        patched.setattr(rungs, "inspect_padding", look)
        yield found


def moved(captured: CapturedGraph, device: str) -> CapturedGraph:
    for node in captured.graph_module.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device(device)}
    inputs = [
        replace(each, value=_twin(each.value, device)) if isinstance(each.value, torch.Tensor) else each
        for each in captured.inputs
    ]
    return replace(captured, inputs=tuple(inputs))


def _twin(fake: Any, device: str) -> torch.Tensor:
    with fake.fake_mode:
        twin = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=device)
    return twin.requires_grad_(fake.requires_grad)


def verdicts(
    monkeypatch: pytest.MonkeyPatch, functions: Sequence[Function], *devices: str
) -> list[list[str]]:
    found = []
    for function in functions:
        with looked_at(monkeypatch, *devices) as here:
            torch._dynamo.reset()
            padded(function, CONTRACTS, fallback="eager")(*make(5))
        found.append(here)
    return found


@pytest.mark.parametrize("kernel", ["written out", *OF_A_GPU])
def test_the_verdict_is_the_same_with_every_kernel(
    kernel: str, attention: Callable[[Attention], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    attention({**OF_A_CPU_TOO, **OF_A_GPU}[kernel])
    found = verdicts(monkeypatch, [*PADDED.values(), *DRAWS.values(), *REFUSED.values()], "cpu")
    expected = ["padded"] * (len(PADDED) + len(DRAWS)) + [SEEN] * len(REFUSED)
    assert [verdict for (verdict,) in found] == expected


def test_dropout_of_attention_is_told_of(attention: Callable[[Attention], None]) -> None:
    attention(written_out)
    model = padded(dropped, CONTRACTS, fallback="eager", verify=True)
    model(*make(5))
    assert "padding changes what is drawn" in refusals(model)[0].reason


# Operators of torch's that differ between devices inside, or that layers are made of.
OTHERS: dict[str, Function] = {
    "layer norm": lambda x, m: F.layer_norm(x, (WIDTH,)),
    "rms norm": lambda x, m: F.rms_norm(x, (WIDTH,)),
    "group norm": lambda x, m: F.group_norm(x.reshape(-1, WIDTH), 4),
    "batch norm": lambda x, m: F.batch_norm(x.reshape(-1, WIDTH), x.new_zeros(WIDTH), x.new_ones(WIDTH)),
    "softmax": lambda x, m: x.softmax(-1),
    "softmax of halves": lambda x, m: x.half().softmax(-1, dtype=torch.float32),
    "log softmax": lambda x, m: x.log_softmax(-1),
    "dropout": lambda x, m: F.dropout(x),
    "bag": lambda x, m: F.embedding_bag(x.argmax(-1).t(), x.new_ones(WIDTH, 3), mode="sum"),
    "convolution": lambda x, m: F.conv1d(x.transpose(1, 2), x.new_ones(WIDTH, WIDTH, 1)),
    "mean": lambda x, m: x.mean(1),
    "linear": lambda x, m: F.linear(x, x.new_ones(WIDTH, WIDTH), x.new_ones(WIDTH)),
    "pooling": lambda x, m: F.max_pool2d(x.reshape(-1, 1, 8, 4), 2),
    "groups of heads": lambda x, m: of_aten(_heads(x), _heads(x)[:, :2], is_causal=True, enable_gqa=True),
    "halves": lambda x, m: of_aten(*[_heads(x).bfloat16()] * 2, m[:, None, None]),
    "halves that are seen": lambda x, m: of_aten(*[_heads(x).bfloat16()] * 2),
    "three dimensions": lambda x, m: of_aten(x, x, is_causal=True),
}


def of_aten(q: torch.Tensor, k: torch.Tensor, mask: Any = None, **options: Any) -> torch.Tensor:
    return torch.ops.aten.scaled_dot_product_attention(q, k, k, mask, **options)  # type: ignore[no-any-return]


def by_aten(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    q = _heads(MHA.out_proj(x))
    return of_aten(q, q, m[:, None, None]).transpose(1, 2).reshape(x.shape)


def _heads(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, -1, HEADS, WIDTH // HEADS).transpose(1, 2)


def test_attention_called_by_its_operator(check: Any) -> None:
    model = padded(by_aten, CONTRACTS, fallback="eager")
    for size in SIZES:
        check(by_aten, model, lambda n=size: make(n), PARAMETERS)
    assert refusals(model) == []
    assert served(model) == {"padded": 2, "exact": 2}


def _with_mask(of: Function) -> Function:
    """With an output that is padded whatever becomes of the others, so that a graph has both names."""
    return lambda x, m: (of(x, m), m.logical_not())


@pytest.mark.skipif(not torch.backends.cuda.is_built(), reason="fake CUDA tensors need a CUDA build of torch")
@pytest.mark.parametrize("grad", [True, False])
def test_the_verdict_is_the_same_for_tensors_of_a_gpu(grad: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [*PADDED.values(), *DRAWS.values(), *REFUSED.values(), *map(_with_mask, OTHERS.values())]
    with torch.set_grad_enabled(grad):
        found = verdicts(monkeypatch, functions, "cpu", "cuda")
    assert [on_gpu for _, on_gpu in found] == [on_cpu for on_cpu, _ in found]
