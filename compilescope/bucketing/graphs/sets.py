"""Recordings of one rung in one pool, by the places of its parameters: layers share code, others move."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import torch

LAYERS = 128
"""Sets of parameters, all of them alive, that are recorded for."""

MOVED_AWAY = 8
"""Recordings kept whose parameters are elsewhere now: they may come back."""

RECORDINGS = 32
"""How often one rung is recorded for parameters that are gone before it is given up."""

MOVES = f"its parameters had {RECORDINGS} different addresses"
TOO_MANY = f"more than {LAYERS} sets of parameters share its code"

Kept = TypeVar("Kept")


class ParameterSets(Generic[Kept]):
    """Keeps a recording while its parameters are where it reads them, and a few whose may come back."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], tuple[list[weakref.ref[torch.Tensor]], Kept]] = {}
        self._count = 0

    def __iter__(self) -> Iterator[Kept]:
        return (recording for _, recording in self._made.values())

    def find(self, addresses: tuple[int, ...]) -> Kept | None:
        found = self._made.get(addresses)
        return None if found is None else found[1]

    def refusal(self) -> str | None:
        """Why no other is recorded; None after there is room for it. ``MOVES`` is for good."""
        gone = [at for at, (parameters, _) in self._made.items() if _have_left(parameters, at)]
        here = len(self._made) - len(gone)
        if self._count - here >= RECORDINGS:
            return MOVES
        if here >= LAYERS:
            return TOO_MANY
        if len(gone) >= MOVED_AWAY:
            del self._made[gone[0]]
        self._count += 1
        return None

    def add(self, addresses: tuple[int, ...], parameters: Sequence[torch.Tensor], recording: Kept) -> None:
        self._made[addresses] = ([weakref.ref(each) for each in parameters], recording)


def _have_left(parameters: Sequence[weakref.ref[torch.Tensor]], addresses: Sequence[int]) -> bool:
    now = [parameter() for parameter in parameters]
    return any(each is None or each.data_ptr() != at for each, at in zip(now, addresses, strict=True))
