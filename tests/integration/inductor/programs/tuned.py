"""A linear layer with max-autotune on the CPU: a C++ GEMM template against the library."""

from __future__ import annotations

import torch
import torch._inductor.config

if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.ReLU()).eval()
    with torch.no_grad(), torch._inductor.config.patch(max_autotune=True, freezing=True):
        torch.compile(model)(torch.randn(64, 256))
