"""Outputs that leave their memory to the pool: the next recording may use it, as their contract allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


class PoolMemory:
    """Bytes that a recording writes. A tensor made from it holds it, and so ``keeper``: the pool lives on."""

    def __init__(self, address: int, size_bytes: int, keeper: object) -> None:
        self.address, self.size_bytes, self._keeper = address, size_bytes, keeper

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.size_bytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }


TensorOver = Callable[[PoolMemory, torch.device], torch.Tensor]


def left_to_the_pool(
    outputs: Sequence[Any], keeper: object, is_in_pool: Callable[[int], bool], tensor_over: TensorOver
) -> tuple[Any, ...]:
    """``outputs`` on the same memory without owning it; those that share a storage go on sharing it.

    ``is_in_pool`` tells by a storage's address. What does not lie there, a constant, is kept as it is.
    """
    shared: dict[int, torch.Tensor | None] = {}

    def left(output: Any) -> Any:
        if not _is_plain(output):
            return output
        storage = output.untyped_storage()
        address = storage.data_ptr()
        if address not in shared:
            shared[address] = None
            if is_in_pool(address):
                memory = PoolMemory(address, storage.nbytes(), keeper)
                shared[address] = _tensor_over(memory, output.device, tensor_over)
        base = shared[address]
        return output if base is None else _viewed(base, output)

    return tuple(left(each) for each in outputs)


def copy_of(output: torch.Tensor) -> torch.Tensor:
    """Of the same layout, gaps and repetitions included: a graph behind a graph break was made for that."""
    same = output.detach().clone()
    shape, stride = output.shape, output.stride()
    if same.stride() == stride or not output.numel():
        return same
    length = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return output.as_strided((length,), (1,)).clone().as_strided(shape, stride).detach()


def over_cuda(memory: PoolMemory, device: torch.device) -> torch.Tensor:
    return torch.as_tensor(memory, device=device)


def _is_plain(output: Any) -> bool:
    """Whether its layout and its storage are all there is to it, but for signs that are still to change."""
    return type(output) is torch.Tensor and output.layout == torch.strided and not output.is_quantized


def _tensor_over(memory: PoolMemory, device: torch.device, over: TensorOver) -> torch.Tensor | None:
    try:
        base = over(memory, device)
    except RuntimeError:  # a NumPy that torch was not built for: torch reads the protocol through it
        return None
    return base if base.data_ptr() == memory.address and base.device == device else None


def _viewed(base: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    whole = base.numel() // output.itemsize * output.itemsize
    typed = base[:whole].view(output.dtype)
    laid_out = typed.as_strided(output.shape, output.stride(), output.storage_offset())
    return with_signs_of(output, laid_out)


def with_signs_of(output: torch.Tensor, stored: torch.Tensor) -> torch.Tensor:
    """``stored`` read as ``output`` reads its memory: torch conjugates and negates when it is read."""
    if output.is_conj():
        stored = stored.conj()
    return torch._neg_view(stored) if output.is_neg() else stored
