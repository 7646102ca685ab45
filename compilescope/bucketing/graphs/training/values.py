"""What a replay hands out: the caller's own tensors, copies of results, aliases of what was saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

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
    for position, argument in enumerate(arguments):
        if value is argument:
            return lambda given: given[position]
    if not isinstance(value, torch.Tensor):
        return None
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
    return lambda _: value.detach().clone()


def copies(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """All of them at once: gradients of hundreds of parameters are a few launches."""
    fresh = [torch.empty_like(value) for value in values]
    if fresh:
        torch._foreach_copy_(fresh, list(values))
    return fresh


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
