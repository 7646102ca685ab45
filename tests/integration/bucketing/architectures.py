"""Small random models of many architectures, each with the contract that pads it.

A case is a model in evaluation, a maker of keyword arguments of so many tokens (or samples), the dimension of
each argument that has them, the values to pad with, and what is said where no contract can be right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 97,
    "max_position_embeddings": 64,
}
QUIET = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@dataclass(frozen=True)
class Case:
    model: torch.nn.Module
    make: Callable[[int], dict[str, Any]]
    dims: dict[str, int]
    values: dict[str, float]
    refused: str = ""
    names: dict[str, str] = field(default_factory=dict)

    def name(self, argument: str) -> str:
        """Whose ladder it has; "n" unless it is said."""
        return self.names.get(argument, "n")


def tokens(rows: int, n: int) -> torch.Tensor:
    return torch.randint(3, 96, (rows, n))


def of_tokens(model: torch.nn.Module, pad: int = 0, mask: bool = True, refused: str = "") -> Case:
    def make(n: int) -> dict[str, Any]:
        given = {"input_ids": tokens(2, n)}
        return given | ({"attention_mask": torch.ones_like(given["input_ids"])} if mask else {})

    values = {"input_ids": pad} | ({"attention_mask": 0} if mask else {})
    return Case(model, make, dict.fromkeys(values, 1), dict(values), refused)


def transformers_case(config: str, model: str, given: dict[str, Any], **options: Any) -> Case:
    import transformers

    made = getattr(transformers, config)(**given)
    torch.manual_seed(0)
    return of_tokens(getattr(transformers, model)(made), **options)


def decoder(name: str, **given: Any) -> Case:
    options = {key: given.pop(key) for key in ("mask", "refused") if key in given}
    config = "Gemma3TextConfig" if name == "Gemma3" else f"{name}Config"
    return transformers_case(config, f"{name}ForCausalLM", {**SMALL, "use_cache": False, **given}, **options)


def encoder(name: str, **given: Any) -> Case:
    options = {key: given.pop(key) for key in ("pad", "mask", "refused") if key in given}
    return transformers_case(f"{name}Config", f"{name}Model", {**SMALL, **QUIET, **given}, **options)


def clip_of_texts() -> Case:
    given = SMALL | {"eos_token_id": 96, "bos_token_id": 1, "pad_token_id": 0}
    case = transformers_case("CLIPTextConfig", "CLIPTextModel", given)

    def make(n: int) -> dict[str, Any]:
        made = case.make(n)
        made["input_ids"][:, -1] = 96
        return made

    return Case(case.model, make, case.dims, case.values)


def translator(name: str, **given: Any) -> Case:
    """With two ladders: what is decoded is about half as long."""
    import transformers

    config = getattr(transformers, f"{name}Config")(vocab_size=97, d_model=32, use_cache=False, **given)
    pad = config.pad_token_id

    def make(n: int) -> dict[str, Any]:
        ids = tokens(2, n)
        decoded = tokens(2, max(2, n // 2))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": decoded}

    values = {"input_ids": pad, "attention_mask": 0, "decoder_input_ids": pad}
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    return Case(model, make, dict.fromkeys(values, 1), values, names={"decoder_input_ids": "k"})


def vision() -> Case:
    from transformers import ViTConfig, ViTModel

    model = ViTModel(ViTConfig(**SMALL | QUIET | {"image_size": 16, "patch_size": 4}))
    return Case(
        model, lambda n: {"pixel_values": torch.randn(n, 3, 16, 16)}, {"pixel_values": 0}, {"pixel_values": 0}
    )


class Pooled(torch.nn.Module):
    """torch's own layers, and a head over the mean of real tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(97, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(32, 4)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.layers(self.embed(input_ids), src_key_padding_mask=attention_mask == 0)
        mask = attention_mask[..., None].to(hidden.dtype)
        return self.head((hidden * mask).sum(1) / mask.sum(1).clamp(min=1))


class Diffusion(torch.nn.Module):
    """A block of a diffusion transformer: its norms are shifted and scaled by a condition."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(32, elementwise_affine=False)
        self.condition = torch.nn.Linear(32, 96)
        self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)

    def forward(self, x: torch.Tensor, c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        shift, scale, gate = self.condition(F.silu(c))[:, None].chunk(3, -1)
        heads = self.qkv(self.norm(x) * (1 + scale) + shift).view(*x.shape[:2], 3, 4, 8)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        return x + gate * self.out(mixed.transpose(1, 2).reshape(x.shape))


class Images(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = F.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        return self.head(F.adaptive_avg_pool2d(pooled, 1).flatten(1))


def diffusion() -> Case:
    def make(n: int) -> dict[str, Any]:
        return {
            "x": torch.randn(2, n, 32),
            "c": torch.randn(2, 32),
            "mask": torch.ones(2, n, dtype=torch.bool),
        }

    return Case(Diffusion(), make, {"x": 1, "mask": 1}, {"x": 0, "mask": 0})


def images() -> Case:
    return Case(Images(), lambda n: {"x": torch.randn(n, 3, 8, 8)}, {"x": 0}, {"x": 0})


SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
BART = {
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
}
BY_SORTING = "sort over padded rows moves them"

CASES: dict[str, Callable[[], Case]] = {
    "Llama": lambda: decoder("Llama", num_key_value_heads=2),
    "Llama without a mask": lambda: decoder("Llama", mask=False),
    "Llama, attention written out": lambda: decoder("Llama", attn_implementation="eager"),
    "Qwen3": lambda: decoder("Qwen3", head_dim=8, num_key_value_heads=2),
    "Mistral, sliding": lambda: decoder("Mistral", sliding_window=5, num_key_value_heads=2),
    "Gemma3": lambda: decoder("Gemma3", head_dim=8, sliding_window=5, num_key_value_heads=2),
    "GPT-2": lambda: transformers_case("GPT2Config", "GPT2LMHeadModel", {**GPT2, "vocab_size": 97}),
    "GPT-NeoX": lambda: decoder("GPTNeoX"),
    "OPT": lambda: decoder("OPT", ffn_dim=64, word_embed_proj_dim=32),
    "Mixtral": lambda: decoder(
        "Mixtral", num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, refused=BY_SORTING
    ),
    "Llama classifies": lambda: transformers_case(
        "LlamaConfig", "LlamaForSequenceClassification", {**SMALL, "use_cache": False, "pad_token_id": 0}
    ),
    "BERT": lambda: encoder("Bert"),
    "BERT without a mask": lambda: encoder("Bert", mask=False, refused="needs a mask that hides them"),
    "RoBERTa": lambda: encoder("Roberta", pad=1, pad_token_id=1),
    "DeBERTa": lambda: encoder(
        "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16
    ),
    "ModernBERT": lambda: encoder("ModernBert", local_attention=8, cls_token_id=1, sep_token_id=2, **SPECIAL),
    "T5 encodes": lambda: transformers_case(
        "T5Config",
        "T5EncoderModel",
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 97},
    ),
    "T5": lambda: translator("T5", d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=0),
    "BART": lambda: translator("Bart", encoder_layers=2, decoder_layers=2, **BART),
    "CLIP of texts": clip_of_texts,
    "ViT, padded batch": vision,
    "torch's encoder, pooled": lambda: of_tokens(Pooled()),
    "diffusion transformer": diffusion,
    "convolutions, padded batch": images,
}
