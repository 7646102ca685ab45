"""How long the lists of a report may get. What a list leaves out is counted beside it, in ``more``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

GRAPHS_READ = 200  # texts of so many graphs are parsed for one report
GUARD_LISTS = 200  # of a process
GUARDS = 300  # of one list
LOOKUPS = 40  # compared with each other: each reads a text of 70 kB
KEY_CHANGES = 8
KERNELS = 60
FUSED_GROUPS = 20
BUFFERS = 12
NODES = 24  # of one kernel
CONFIGURATIONS = 8
CROSSINGS = 60
DECOMPOSITIONS = 60
TENSORS = 60  # of AOTAutograd's lists
CHOICES = 24
SIZES = 200
TUNED_SITES = 100
TUNED_ROWS = 64
TUNED_USES = 32
CAPTURE_REASONS = 20
ALSO_FAILED = 12
LADDERS = 8

T = TypeVar("T")


def few(
    items: Sequence[T], most: int, name: str, more: dict[str, int], *, total: int | None = None
) -> list[T]:
    """The first ``most`` of ``items``. How many are not among them, of ``total`` where the recording itself
    has only some, is put into ``more`` under the list's name.
    """
    kept = list(items[:most])
    left = max(len(items), total or 0) - len(kept)
    if left > 0:
        more[name] = left
    return kept
