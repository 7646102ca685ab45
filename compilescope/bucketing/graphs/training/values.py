"""What a replay hands out: the caller's own tensors, copies of results, aliases of what was saved."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch

from compilescope.bucketing.graphs.buffers import overlaps_itself
from compilescope.bucketing.graphs.outputs import copy_of, with_signs_of

Make = Callable[[Sequence[Any]], Any]
"""From the arguments of a call to one of its results."""


def address(value: Any) -> int | None:
    """Of the storage; None for what has none, or no memory in it."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return value.untyped_storage().data_ptr() or None


def of_the_caller(value: Any, arguments: Sequence[Any], copied: Mapping[int, torch.Tensor]) -> Make | None:
    """For a result that is one of the ``arguments`` recorded with, or a view of a copied one; else None.

    The copy is written over by the next call, while the caller's tensor is what a backward is to read.
    """
    if not isinstance(value, torch.Tensor):
        return None
    for position, argument in enumerate(arguments):
        if value is argument:
            return lambda given: given[position]
    storage = value.untyped_storage()._cdata
    for position, view in copied.items():
        if view.untyped_storage()._cdata == storage:
            return _view_of(position, value, value.storage_offset() - view.storage_offset())
    return None


def _view_of(position: int, value: torch.Tensor, further: int) -> Make:
    shape, stride = tuple(value.shape), tuple(value.stride())

    def view(given: Sequence[Any]) -> torch.Tensor:
        # As compiled code does it: an alias that autograd takes for no view, with a version of its own.
        whole: torch.Tensor = given[position].data
        return whole.as_strided(shape, stride, whole.storage_offset() + further).detach()

    return view


def constant(value: Any) -> Make:
    return lambda _: value


def alias(value: torch.Tensor) -> Make:
    return lambda _: value.detach()


def copy(value: torch.Tensor) -> Make:
    if not overlaps_itself(value):
        room = _room_for(value)
        return lambda _: room().copy_(value)
    return lambda _: copy_of(value)


def copies(values: Sequence[torch.Tensor]) -> Callable[[], list[torch.Tensor]]:
    """Copies all at once: gradients of hundreds of parameters are a few launches."""
    rooms, sources = [_room_for(value) for value in values], list(values)

    def copied() -> list[torch.Tensor]:
        fresh = [room() for room in rooms]
        if fresh:
            torch._foreach_copy_(fresh, sources)
        return fresh

    return copied


def _room_for(value: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Makes tensors of the same strides, which compiled code goes by: a clone of what has gaps has others."""
    about: dict[str, Any] = {"dtype": value.dtype, "device": value.device}
    if overlaps_itself(value):
        return partial(torch.empty, value.shape, **about)
    return partial(torch.empty_strided, value.shape, value.stride(), **about)


def apart(values: Sequence[Any], positions: Container[int]) -> list[Any]:
    """Those at the positions on memory of their own, laid out and sharing it among each other as before."""
    storages: dict[int, torch.UntypedStorage] = {}

    def moved(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        if storage._cdata not in storages:
            storages[storage._cdata] = storage.clone()
        empty = torch.empty(0, dtype=value.dtype, device=value.device)
        empty.set_(storages[storage._cdata], value.storage_offset(), value.shape, value.stride())
        return with_signs_of(value, empty)

    with torch.no_grad():
        return [moved(value) if n in positions else value for n, value in enumerate(values)]


def refuse_generators(inputs: Sequence[Any]) -> None:
    """A checkpoint inside gives each half a generator of its own: runs before a recording would part them."""
    if any(isinstance(each, torch.Generator) for each in inputs):
        raise RuntimeError(
            "it is given a random generator, which the runs before a recording would draw from"
        )


def nothing_drawn(device: torch.device) -> AbstractContextManager[None]:
    """What runs within for a recording's sake leaves the random numbers that come next as they are."""
    return torch.random.fork_rng([device] if device.type == "cuda" else [])  # type: ignore[no-any-return]


class Holders:
    """Counts who holds the storages of ``values``, tensors that this process's recording keeps.

    Every alias counts, whoever made it, also those that only autograd has.
    """

    def __init__(self, values: Sequence[torch.Tensor]) -> None:
        self._values = tuple(values)
        storages = {value.untyped_storage()._cdata for value in values}
        self._alone = [(storage, torch._C._storage_Use_Count(storage)) for storage in storages]

    def any_else(self) -> bool:
        count = torch._C._storage_Use_Count
        return any(count(storage) > alone for storage, alone in self._alone)
