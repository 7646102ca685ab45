"""What records kernels and replays them: a tape for each recording. Tests bring their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch

WARM_UP_RUNS = 3
"""Runs before the recording: kernels are loaded and autotuned."""


@dataclass(frozen=True, slots=True)
class Recording:
    """``replay`` takes the arguments of a call, whose copies are in the static buffers, and returns outputs.

    The next replay overwrites them; their memory may serve later recordings too. Whoever holds one of them
    holds the pool. ``graphs`` counts CUDA graphs; ``copied_bytes`` are what a replay copies besides inputs;
    ``written`` are the addresses of outputs' storages that are the same for all replays.
    """

    replay: Callable[[Sequence[Any]], Sequence[Any]]
    graphs: int
    wall_s: float
    copied_bytes: int
    written: frozenset[int]
    of_backward: bool = False


class Tape(Protocol):
    """One recording, of one or several graphs, in the order in which they will be replayed."""

    def rehearse(self, run: Callable[[], Any]) -> None:
        """Call ``run`` a few times on the queue of the recording."""

    def capture(
        self, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Callable[[], None] | None, tuple[Any, ...]]:
        """What replays the call, None where it runs nothing, and its outputs, which hold no values yet.

        Their memory is theirs as long as somebody holds them; what is captured after that may use it.
        Raises what CUDA raises.
        """

    def left_to_the_pool(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """``values`` without a hold on their memory, but on all that was captured."""


class Recorder(Protocol):
    """The recordings of one backend, in one memory pool."""

    device_type: str

    def busy(self) -> str | None:
        """Why nothing may be replayed now; None when it may."""

    def queue(self, device: torch.device) -> int:
        """What work given to ``device`` by this thread is ordered by: the number of its current stream."""

    def tape(self, device: torch.device) -> AbstractContextManager[Tape]:
        """Within it work is given to the queue of recordings, ordered after and before the caller's own."""

    def settle(self) -> None:
        """Wait until everything replayed so far has run: the next caller may use another queue."""

    def pool_bytes(self) -> int:
        """Device memory the recordings hold together."""

    def forget_pool(self) -> None:
        """A recording failed: the next ones go to a new pool."""
