"""What tests of CUDA graphs on a real device have in common."""

from __future__ import annotations

import warnings

import pytest
import torch

with warnings.catch_warnings():
    # Importing Inductor warns of torch's own use of what torch deprecates.
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx

ON_A_DEVICE = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("fresh_device"),
]
