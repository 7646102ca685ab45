"""Training of a two-layer Llama; what stays allocated after the forward is printed."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

CONFIG = LlamaConfig(
    hidden_size=512,
    intermediate_size=1408,
    num_hidden_layers=2,
    num_attention_heads=8,
    num_key_value_heads=4,
    vocab_size=4096,
    use_cache=False,
)
MODEL = LlamaForCausalLM(CONFIG).to(device="cuda", dtype=torch.bfloat16)


def loss_of(ids: torch.Tensor) -> torch.Tensor:
    return MODEL(input_ids=ids, labels=ids).loss


def main() -> None:
    compiled = torch.compile(loss_of)
    ids = torch.randint(0, 4096, (4, 512), device="cuda")
    for _ in range(3):
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        loss = compiled(ids)
        torch.cuda.synchronize()
        kept = torch.cuda.memory_allocated() - before
        loss.backward()
        del loss
    print("KEPT", kept)


if __name__ == "__main__":
    main()
