"""What the graphs of a backend did, as values and as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphLine:
    """One rung of one entry. ``skipped`` says why it has no graph, None when it may have one.

    ``recorded`` is how often it was recorded, as ``graphs`` CUDA graphs together: several each, where there
    is one for each piece. ``copied_bytes`` are those of one replay. ``plainly`` counts the calls that ran the
    artifact instead of a replay, by reason. ``note`` says why it is recorded whole where pieces were wanted.
    Of a rung that is trained ``replays`` are those of its forward, ``backward_replays`` the others.
    """

    entry: int
    rung: str
    skipped: str | None
    recorded: int = 0
    replays: int = 0
    copied_bytes: int = 0
    plainly: tuple[tuple[str, int], ...] = ()
    graphs: int = 0
    note: str = ""
    backward_replays: int | None = None


@dataclass(frozen=True, slots=True)
class GraphReport:
    """``pool_bytes`` and ``buffer_bytes`` are device memory; a line counts ``copied_bytes`` per replay."""

    lines: tuple[GraphLine, ...]
    pool_bytes: int
    buffer_bytes: int

    @property
    def recorded(self) -> int:
        """How often a rung was recorded."""
        return sum(line.recorded for line in self.lines)

    @property
    def graphs(self) -> int:
        """How many CUDA graphs were recorded."""
        return sum(line.graphs for line in self.lines)

    @property
    def copied_bytes(self) -> int:
        """Bytes copied into static buffers so far."""
        return sum(line.copied_bytes * line.replays for line in self.lines)

    def __str__(self) -> str:
        pool, buffers = self.pool_bytes / 2**20, self.buffer_bytes / 2**20
        title = f"{self.graphs} CUDA graphs, {pool:.1f} MiB in the pool, {buffers:.1f} MiB of buffers"
        return "\n".join([title, *(f"  {_words(line)}" for line in self.lines)])


def _words(line: GraphLine) -> str:
    where = f"entry {line.entry}, {line.rung}: "
    if line.skipped is not None:
        return where + f"none: {line.skipped}"
    plainly = "".join(f", {count} calls not replayed: {reason}" for reason, count in line.plainly)
    pieces = f" as {line.graphs} graphs" if line.graphs != line.recorded else ""
    note = f", whole, {line.note}" if line.note else ""
    back = "" if line.backward_replays is None else f" and {line.backward_replays} of its backward"
    return where + f"{line.recorded} recorded{pieces}, {line.replays} replays{back}{plainly}{note}"
