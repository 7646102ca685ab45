"""What the traffic benchmarks serve: transformer blocks over a varying number of tokens, and the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gpu_rungs import Block
from traffic_files import Size, rung_of

Call = Callable[[torch.Tensor], torch.Tensor]


class BatchedBlock(Block):
    """The block over ``batch x length x width``, causal in each sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.attend(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.think(x))))


@dataclass(frozen=True)
class Setting:
    """The model and where it runs; ``dims`` counts the dimensions before the width."""

    blocks: int = 4
    width: int = 1024
    device: str = "cuda"
    dims: int = 1
    trains: bool = False

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device == "cuda" else torch.float32

    def model(self) -> torch.nn.Module:
        torch.manual_seed(0)
        heads = max(self.width // 64, 1)
        block = Block if self.dims == 1 else BatchedBlock
        layers = [block(self.width, heads) for _ in range(self.blocks)]
        return torch.nn.Sequential(*layers).to(self.device, self.dtype).train(self.trains)

    def zeros(self, size: Size) -> torch.Tensor:
        return torch.zeros(*size, self.width, device=self.device, dtype=self.dtype)

    def inputs(self, sizes: Sequence[Size]) -> dict[Size, torch.Tensor]:
        """A tensor per distinct size, made before anything is timed."""
        torch.manual_seed(1)
        return {
            size: torch.randn(*size, self.width, device=self.device, dtype=self.dtype)
            for size in sorted(set(sizes))
        }

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def wall_us(self, call: Callable[[], Any]) -> float:
        """Of one call until the device has finished it."""
        return self.wall_and_host_us(call)[0]

    def wall_and_host_us(self, call: Callable[[], Any]) -> tuple[float, float]:
        """The same, and until the call came back."""
        self.synchronize()
        started = time.perf_counter()
        call()
        host_us = (time.perf_counter() - started) * 1e6
        self.synchronize()
        return (time.perf_counter() - started) * 1e6, host_us

    def memory_mib(self) -> float:
        """Device memory in use by everybody, CUDA's own for modules and graphs included."""
        if self.device != "cuda":
            return 0.0
        free, total = torch.cuda.mem_get_info()
        return (total - free) / 2**20

    def peak_mib(self) -> float:
        """The most bytes that torch had allocated since this was asked last."""
        if self.device != "cuda":
            return 0.0
        peak = torch.cuda.max_memory_allocated() / 2**20
        torch.cuda.reset_peak_memory_stats()
        return peak

    def device_allocations(self) -> int:
        """How often torch has asked the driver for memory."""
        return torch.cuda.memory_stats()["num_device_alloc"] if self.device == "cuda" else 0


class PadTo:
    """``served`` with rows added at the end of each dim up to the request's rung, and cut off again.

    Attention is causal and everything else works token by token, so no real one sees them.
    """

    def __init__(self, served: Call, rungs: Sequence[Sequence[int]]) -> None:
        self._served = served
        self._rungs = [tuple(rung) for rung in rungs]
        self._found: dict[Size, Size] = {}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        size = tuple(x.shape[:-1])
        if size not in self._found:
            self._found[size] = self._wanted(size, rung_of(size, self._rungs))
        return padded(self._served, x, self._found[size])

    def _wanted(self, size: Size, rung: Size | None) -> Size:
        return rung or size


class NoLoneOne(PadTo):
    """``served``, a size 1 made 2 where the request's rung has no 1: Dynamo makes 1 a constant.

    Of a request without a rung it is a size 1 that no rung has.
    """

    def _wanted(self, size: Size, rung: Size | None) -> Size:
        least = [min(sizes) for sizes in zip(*self._rungs, strict=True)]
        return tuple(2 if n == 1 and more > 1 else n for n, more in zip(size, rung or least, strict=True))


def padded(served: Call, x: torch.Tensor, size: Size) -> torch.Tensor:
    added = [more - n for n, more in zip(x.shape[:-1], size, strict=True)]
    if not any(added):
        return served(x)
    amounts = [amount for each in reversed(added) for amount in (0, each)]
    result = served(torch.nn.functional.pad(x, (0, 0, *amounts)))
    for dim, n in enumerate(x.shape[:-1]):
        result = result.narrow(dim, 0, n)
    return result


def spread(values: Sequence[float]) -> list[float]:
    """Lowest, median, highest."""
    ordered = sorted(values)
    return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
