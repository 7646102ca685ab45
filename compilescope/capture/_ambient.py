"""The thread-wide modes that GLOBAL_STATE guards on."""

from __future__ import annotations

from typing import Any


def ambient_state() -> dict[str, Any]:
    """Grad and inference mode, autocast and the like, as they are now in this thread."""
    import torch

    state: dict[str, Any] = {
        "grad_mode": torch.is_grad_enabled(),
        "inference_mode": torch.is_inference_mode_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "num_threads": torch.get_num_threads(),
    }
    for device in ("cpu", "cuda"):
        state[f"autocast_{device}"] = torch.is_autocast_enabled(device)
        if state[f"autocast_{device}"]:
            state[f"autocast_{device}_dtype"] = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
    return state
