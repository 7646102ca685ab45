"""What the traffic benchmarks serve: transformer blocks over a varying number of tokens, and the clock."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gpu_rungs import Block


@dataclass(frozen=True)
class Setting:
    """The model and where it runs."""

    blocks: int = 4
    width: int = 1024
    device: str = "cuda"

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device == "cuda" else torch.float32

    def model(self) -> torch.nn.Module:
        torch.manual_seed(0)
        heads = max(self.width // 64, 1)
        layers = [Block(self.width, heads) for _ in range(self.blocks)]
        return torch.nn.Sequential(*layers).to(self.device, self.dtype).eval()

    def inputs(self, sizes: Sequence[int]) -> dict[int, torch.Tensor]:
        """A tensor per distinct size, made before anything is timed."""
        torch.manual_seed(1)
        return {n: torch.randn(n, self.width, device=self.device, dtype=self.dtype) for n in set(sizes)}

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def wall_us(self, call: Callable[[], Any]) -> float:
        """Of one call until the device has finished it."""
        self.synchronize()
        started = time.perf_counter()
        call()
        self.synchronize()
        return (time.perf_counter() - started) * 1e6

    def memory_mib(self) -> float:
        """Device memory in use by everybody, CUDA's own for modules and graphs included."""
        if self.device != "cuda":
            return 0.0
        free, total = torch.cuda.mem_get_info()
        return (total - free) / 2**20


class PadTo:
    """``served`` with rows added at the end up to the next rung, and cut off again.

    Attention is causal and everything else works row by row, so no real row sees them.
    """

    def __init__(self, served: Callable[[torch.Tensor], torch.Tensor], rungs: Sequence[int]) -> None:
        self._served = served
        self._rungs = sorted(rungs)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        place = bisect_left(self._rungs, rows)
        if place == len(self._rungs) or self._rungs[place] == rows:
            return self._served(x)
        padded = torch.nn.functional.pad(x, (0, 0, 0, self._rungs[place] - rows))
        return self._served(padded)[:rows]


def spread(values: Sequence[float]) -> list[float]:
    """Lowest, median, highest."""
    ordered = sorted(values)
    return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
