"""Which inputs of a rung keep their address, which are copied, and the static buffers they are copied to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from compilescope.bucketing.identify import Placeholder


@dataclass(frozen=True, slots=True)
class CopiedInput:
    """A tensor argument in the layout the rung was compiled for."""

    position: int
    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def like(cls, tensor: torch.Tensor, name: str, position: int = -1) -> CopiedInput:
        """``tensor`` has plain sizes, strides and offset."""
        shape, stride = tuple(tensor.shape), tuple(tensor.stride())
        return cls(position, name, shape, stride, int(tensor.storage_offset()), tensor.dtype, tensor.device)

    @property
    def extent_bytes(self) -> int:
        """From the start of its storage to its last element."""
        if 0 in self.shape:
            return 0
        last = sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))
        return (1 + self.offset + last) * int(self.dtype.itemsize)

    @property
    def size_bytes(self) -> int:
        """What a call copies."""
        return prod(self.shape) * int(self.dtype.itemsize)


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """``kept`` are the positions of parameters and buffers: a recording reads them where they are."""

    copied: tuple[CopiedInput, ...]
    kept: tuple[int, ...]

    @classmethod
    def of(
        cls,
        inputs: Sequence[Placeholder],
        arguments: Sequence[object],
        passed: Collection[int] = (),
    ) -> BufferPlan:
        """``arguments`` are those the rung was compiled with: plain sizes, strides and offsets.

        Those at the positions ``passed`` are neither copied nor kept: no recording reads them.
        """
        copied: list[CopiedInput] = []
        kept: list[int] = []
        for each, argument in zip(inputs, arguments, strict=True):
            if not isinstance(argument, torch.Tensor) or each.position in passed:
                continue
            if each.keeps_address or isinstance(argument, torch.nn.Parameter):
                kept.append(each.position)
            else:
                copied.append(CopiedInput.like(argument, each.name, each.position))
        return cls(tuple(copied), tuple(kept))

    @property
    def copied_bytes(self) -> int:
        """Bytes a replay copies into static buffers."""
        return sum(each.size_bytes for each in self.copied)


class StaticBuffers:
    """One buffer per argument position, shared by all rungs: each rung's input is a view of its start.

    Recorded largest first, the largest rung makes the buffer. A larger one that comes later gets a new
    buffer; recordings made before keep theirs, for they hold its views.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[int, torch.device], torch.Tensor] = {}

    def view(self, wanted: CopiedInput) -> torch.Tensor:
        """The static tensor for this input: zeros until it is copied to."""
        key = (wanted.position, wanted.device)
        buffer = self._buffers.get(key)
        if buffer is None or buffer.numel() < wanted.extent_bytes:
            buffer = self._buffers[key] = _buffer_for(wanted)
        return _laid_out(buffer, wanted)

    @property
    def size_bytes(self) -> int:
        return sum(buffer.numel() for buffer in self._buffers.values())


class Slots:
    """Buffers for the results of operators, shared by all rungs: a slot is free when no live value has it."""

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []

    def take(self, wanted: CopiedInput, taken: Collection[int | None]) -> torch.Tensor:
        """The smallest free slot that is large enough, else a new one. ``taken`` are storages in use."""
        free = [
            buffer
            for buffer in self._buffers
            if buffer.device == wanted.device
            and buffer.numel() >= wanted.extent_bytes
            and buffer.untyped_storage()._cdata not in taken
        ]
        if not free:
            free = [_buffer_for(wanted)]
            self._buffers += free
        return _laid_out(min(free, key=torch.Tensor.numel), wanted)

    @property
    def size_bytes(self) -> int:
        return sum(buffer.numel() for buffer in self._buffers)


def address_reader(kept: Sequence[int]) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """The addresses of the arguments at these positions.

    Generated: a model has hundreds of parameters, and a call should look at each for some 50 ns.
    """
    reads = "".join(f"a[{position}].data_ptr(), " for position in kept)
    return eval(f"lambda a: ({reads})")  # type: ignore[no-any-return]


def _buffer_for(wanted: CopiedInput) -> torch.Tensor:
    # Not under inference mode: whoever copies to it later may not be.
    with torch.inference_mode(False):
        return torch.zeros(wanted.extent_bytes, dtype=torch.uint8, device=wanted.device)


def _laid_out(buffer: torch.Tensor, wanted: CopiedInput) -> torch.Tensor:
    with torch.inference_mode(False):
        start = buffer[: wanted.extent_bytes].view(wanted.dtype)
        return start.as_strided(wanted.shape, wanted.stride, wanted.offset)


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements may lie at one address, as in ``x.expand(4, -1)``: nothing can be copied there."""
    reached = 0
    steps = sorted((step, size) for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)
    for step, size in steps:
        if step <= reached:
            return True
        reached += (size - 1) * step
    return False
