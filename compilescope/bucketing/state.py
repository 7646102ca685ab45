"""Thread state that decides what a compile produces: gradients, autocast, determinism."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu")


@dataclass(frozen=True, slots=True)
class GlobalState:
    """Read when Dynamo captures a graph, restored around each compile that happens later or elsewhere.

    AOTAutograd reads it from the thread: compiled without it, a rung would lose its gradients or its dtype.
    """

    grad_enabled: bool
    inference: bool
    autocast: tuple[tuple[str, torch.dtype], ...]
    autocast_cache: bool
    deterministic: bool

    @classmethod
    def now(cls) -> GlobalState:
        active = [device for device in _AUTOCAST_DEVICES if torch.is_autocast_enabled(device)]
        return cls(
            grad_enabled=torch.is_grad_enabled(),
            inference=torch.is_inference_mode_enabled(),
            autocast=tuple((device, torch.get_autocast_dtype(device)) for device in active),
            autocast_cache=torch.is_autocast_cache_enabled(),
            deterministic=torch.are_deterministic_algorithms_enabled(),
        )

    @contextmanager
    def restored(self) -> Iterator[None]:
        warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        deterministic = torch.are_deterministic_algorithms_enabled()
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(self.inference))
            stack.enter_context(torch.set_grad_enabled(self.grad_enabled))
            wanted = dict(self.autocast)
            for device in _AUTOCAST_DEVICES:
                if device in wanted:
                    stack.enter_context(
                        torch.autocast(device, wanted[device], cache_enabled=self.autocast_cache)
                    )
                elif torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            torch.use_deterministic_algorithms(self.deterministic, warn_only=warn_only)
            try:
                yield
            finally:
                torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)

    def __str__(self) -> str:
        parts = ["inference" if self.inference else "grad" if self.grad_enabled else "no grad"]
        parts += [f"autocast {device} {str(dtype).removeprefix('torch.')}" for device, dtype in self.autocast]
        return ", ".join(parts + ["deterministic"] * self.deterministic)
