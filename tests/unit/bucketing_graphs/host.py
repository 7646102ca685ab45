"""Recording on the host, as strictly as a CUDA graph would: to be in the wrong memory shows as NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from compilescope.bucketing.graphs.outputs import PoolMemory, left_to_the_pool, with_signs_of
from compilescope.bucketing.graphs.recorder import WARM_UP_RUNS

POISON = 0xFF


class _Interface:
    """Bytes for NumPy. With a pool it owns its block, which is free again when nobody has the bytes."""

    def __init__(self, interface: dict[str, Any], keeps: object, pool: Pool | None = None) -> None:
        self.__array_interface__ = interface
        self._keeps, self._pool = keeps, pool

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool.free.append(self._keeps)


def over_host(memory: PoolMemory, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.asarray(_Interface(memory.__cuda_array_interface__, memory)))


class Pool:
    """A block is free again when nobody owns it; what is captured later may be given it."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray[Any, Any]] = []
        self.free: list[Any] = []

    def own(self, size_bytes: int) -> torch.Tensor:
        fitting = [number for number, block in enumerate(self.free) if block.nbytes >= size_bytes]
        if fitting:
            block = self.free.pop(min(fitting, key=lambda number: self.free[number].nbytes))
        else:
            block = np.full(max(size_bytes, 1), POISON, np.uint8)
            self.blocks.append(block)
        interface = {**block.__array_interface__, "shape": (size_bytes,)}
        return torch.from_numpy(np.asarray(_Interface(interface, block, self)))

    def holds(self, address: int) -> bool:
        return any(block.ctypes.data <= address < block.ctypes.data + block.nbytes for block in self.blocks)


class HostTape:
    """A replay runs the function again on the same tensors and writes into the outputs' memory.

    Before, it spoils whatever was free when it was captured: kernels could have their intermediates there.
    """

    def __init__(self, recorder: HostRecorder) -> None:
        self.captures = 0
        self._recorder = recorder
        self._pool = recorder.pool

    def rehearse(self, run: Callable[[], Any]) -> None:
        for _ in range(WARM_UP_RUNS):
            run()

    def capture(
        self, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Callable[[], None] | None, tuple[Any, ...]]:
        if self._recorder.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.captures += 1
        scratch = list(self._pool.free)
        with _nothing_happens(arguments):
            once, again = tuple(function(*arguments)), tuple(function(*arguments))
        outputs = self._owned(once, again)
        # What both runs have at one address was there before: a view of an argument, or a constant.
        mine = [number for number, value in enumerate(outputs) if value is not once[number]]
        written = self.left_to_the_pool([outputs[number] for number in mine])
        # A graph knows addresses, and keeps no parameter.
        read = [
            each.detach() if isinstance(each, torch.nn.Parameter) else each
            for each in self.left_to_the_pool(arguments)
        ]
        if self._recorder.skips_views and outputs and not mine:
            return None, outputs

        def replay() -> None:
            for block in scratch:
                block.fill(POISON)
            results = tuple(function(*read))
            for number, target in zip(mine, written, strict=True):
                target.untyped_storage().copy_(results[number].untyped_storage())

        return replay, outputs

    def left_to_the_pool(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return left_to_the_pool(values, self, self._pool.holds, over_host)

    def _owned(self, once: tuple[Any, ...], again: tuple[Any, ...]) -> tuple[Any, ...]:
        bases: dict[int, torch.Tensor] = {}

        def owned(value: Any, other: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            storage = value.untyped_storage()
            if storage.data_ptr() == other.untyped_storage().data_ptr():
                return value
            if storage._cdata not in bases:
                bases[storage._cdata] = self._pool.own(storage.nbytes())
            whole = storage.nbytes() // value.itemsize * value.itemsize
            typed = bases[storage._cdata][:whole].view(value.dtype)
            mine = typed.as_strided(value.shape, value.stride(), value.storage_offset())
            return with_signs_of(value, mine)

        return tuple(map(owned, once, again))


@contextmanager
def _nothing_happens(arguments: Sequence[Any]) -> Iterator[None]:
    """A capture runs no kernel: nothing is written, the random generator draws nothing."""
    # By ``data``: autograd is not to see that anything was written.
    before = [(each.data, each.data.clone()) for each in arguments if isinstance(each, torch.Tensor)]
    drawn = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(drawn)
        with torch.no_grad():
            for tensor, value in before:
                tensor.copy_(value)


class HostRecorder:
    """Has the place of CudaRecorder. ``fails``: no capture succeeds. ``skips_views``: they are no graphs."""

    device_type = "cpu"

    def __init__(self) -> None:
        self.made: list[HostTape] = []
        self.training: list[HostRecorder] = []
        self.pool = Pool()
        self.stream = 7
        self.fails = False
        self.skips_views = False

    def busy(self) -> str | None:
        return None

    def queue(self, device: torch.device) -> int:
        return self.stream

    @contextmanager
    def tape(self, device: torch.device) -> Iterator[HostTape]:
        tape = HostTape(self)
        yield tape
        self.made.append(tape)

    def settle(self) -> None:
        pass

    def pool_bytes(self) -> int:
        return sum(block.nbytes for block in self.pool.blocks)

    def forget_pool(self) -> None:
        self.pool = Pool()
