"""Rows that belong together: the rungs of one ladder, the phases of one function, frames that go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compilescope.views.html._shelf import Row

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame
    from compilescope.analysis.report_run import Bucket, FramePhases, Phases

MAX_PHASES = 7
_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of one captured graph. ``sizes``: (values, calls, rung), smallest first."""

    rungs: list[Row[Bucket]]
    sizes: list[tuple[dict[str, int] | None, int, str]]

    @property
    def first(self) -> Bucket:
        return self.rungs[0].item

    @property
    def most_hits(self) -> int:
        return max((rung.item.hits or 0 for rung in self.rungs), default=0)

    @property
    def calls(self) -> int | None:
        known = [rung.item.hits for rung in self.rungs if rung.item.hits is not None]
        return sum(known) if known else None

    @property
    def varied(self) -> set[str]:
        """Inputs whose shape is not the same on all rungs; all of them where there is nothing to compare."""
        made = [rung.item.concretized for rung in self.rungs if rung.item.concretized]
        names = {name for shapes in made for name in shapes}
        return {
            name for name in names if len(made) < 2 or any(s.get(name) != made[0].get(name) for s in made)
        }

    @property
    def most_calls(self) -> int:
        return max((calls for _, calls, _ in self.sizes), default=0)


def ladders(rows: Sequence[Row[Bucket]]) -> list[Ladder]:
    groups: dict[tuple[Any, ...], list[Row[Bucket]]] = {}
    for row in rows:
        bucket = row.item
        groups.setdefault((bucket.process, bucket.backend, bucket.graph, bucket.entry), []).append(row)
    return [Ladder(group, _sizes(group)) for group in groups.values()]


def _sizes(group: Sequence[Row[Bucket]]) -> list[tuple[dict[str, int] | None, int, str]]:
    found = [
        (size.values, size.count, rung.item.rung or rung.item.kind)
        for rung in group
        for size in rung.item.sizes
    ]
    return sorted(found, key=lambda size: (size[0] is None, sorted((size[0] or {}).values())))


def standing(bucket: Bucket) -> tuple[str, str]:
    """What became of a rung, and the level of its badge."""
    if bucket.refused:
        return ("in another graph", "plain") if bucket.elsewhere else ("refused", "bad")
    if bucket.failed:
        return "failed", "bad"
    if not bucket.live:
        return "dropped by a reset", "plain"
    if bucket.kind == "eager":
        return ("ran eager", "warn") if bucket.hits else ("not needed", "plain")
    if bucket.hits is None:
        return "hits unknown", "plain"
    return ("used", "good") if bucket.hits else ("never hit", "warn")


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """Seconds by phase: ``names`` by total, the smallest summed; a row's cells are in their order."""

    names: list[str]
    rows: list[tuple[Row[FramePhases], list[float | None]]]
    total: list[float | None]
    longest_s: float


def phase_table(phases: Phases, rows: Sequence[Row[FramePhases]]) -> PhaseTable:
    totals = dict(phases.forward)
    for name, spent_s in phases.backward.items():
        totals[name] = totals.get(name, 0.0) + spent_s
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    names = ranked if len(ranked) <= MAX_PHASES else [*ranked[: MAX_PHASES - 1], _OTHERS]
    cells = [(row, _cells(names, row.item.forward, row.item.backward)) for row in rows]
    longest_s = max((sum(cell or 0 for cell in row) for _, row in cells), default=0.0)
    return PhaseTable(names, cells, _cells(names, phases.forward, phases.backward), longest_s)


def _cells(names: Sequence[str], *spent: dict[str, float]) -> list[float | None]:
    found: dict[str, float] = {}
    for part in spent:
        for name, spent_s in part.items():
            column = name if name in names else _OTHERS
            found[column] = found.get(column, 0.0) + spent_s
    return [found.get(name) for name in names]


def as_tree(frames: Sequence[Frame]) -> list[Frame]:
    """Frames in their order, but what goes on after a graph break stands under the function it is of."""
    own: dict[tuple[str, str, str, int], list[Frame]] = {}
    for frame in frames:
        own.setdefault((frame.process, frame.file, frame.function, frame.line), []).append(frame)
    return [
        frame
        for group in own.values()
        for frame in sorted(group, key=lambda f: (f.resumed_at is not None, f.resumed_at or 0))
    ]
