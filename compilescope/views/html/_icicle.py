"""Compile time as an icicle: all of it, by function, by direction, by phase, each box as wide as its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.units import seconds

if TYPE_CHECKING:
    from compilescope.analysis.report_run import FramePhases, Phases

_NARROWEST = 0.6  # percent of the whole: below this a box is a line nobody can point at
_MOST_BOXES = 400


@dataclass(frozen=True, slots=True)
class Box:
    """``left`` and ``width`` in percent of the picture. ``phase`` is its color, None for what is no phase.

    ``path`` are the labels from the function down: what the picture says, as text.
    """

    label: str
    left: float
    width: float
    spent_s: float
    phase: int | None = None
    path: tuple[str, ...] = ()
    is_leaf: bool = True  # nothing stands below it

    @property
    def style(self) -> str:
        return f"left:{self.left:.3f}%;width:{self.width:.3f}%"


@dataclass(frozen=True, slots=True)
class _Part:
    label: str
    spent_s: float
    parts: tuple[_Part, ...] = ()


def icicle(phases: Phases, names: Sequence[str]) -> list[list[Box]]:
    """Boxes by level, outermost first; empty without phases. ``names`` are the phases that have a color."""
    frames = tuple(_of_frame(frame) for frame in phases.frames)
    whole = _Part("compiling", sum(frame.spent_s for frame in frames), frames)
    levels: list[list[Box]] = [[], [], [], []]
    if whole.spent_s > 0:
        _place(whole, (), 0.0, whole.spent_s, levels, {name: index for index, name in enumerate(names)})
    return [level for level in levels if level]


def _of_frame(frame: FramePhases) -> _Part:
    directions = [("forward", frame.forward), ("backward", frame.backward)]
    parts = [
        _Part(name, sum(spent.values()), _largest_first(_Part(*item) for item in spent.items()))
        for name, spent in directions
        if sum(spent.values()) > 0
    ]
    return _Part(frame.function, sum(part.spent_s for part in parts), tuple(parts))


def _largest_first(parts: Iterable[_Part]) -> tuple[_Part, ...]:
    return tuple(sorted(parts, key=lambda part: (-part.spent_s, part.label)))


def _place(
    part: _Part,
    path: tuple[str, ...],
    left: float,
    whole_s: float,
    levels: list[list[Box]],
    colors: dict[str, int],
) -> None:
    depth = len(path)
    width = 100 * part.spent_s / whole_s
    color = colors.get(part.label, max(len(colors) - 1, 0)) if depth == 3 else None
    whole_path = (*path, part.label)
    levels[depth].append(Box(part.label, left, width, part.spent_s, color, whole_path[1:], not part.parts))
    for child in _shown(part.parts, whole_s):
        _place(child, whole_path, left, whole_s, levels, colors)
        left += 100 * child.spent_s / whole_s


def _shown(parts: Sequence[_Part], whole_s: float) -> Iterator[_Part]:
    """In their order, but those too narrow to see as one at the end."""
    ranked = sorted(parts, key=lambda part: -part.spent_s)[:_MOST_BOXES]
    wide = {id(part) for part in ranked if 100 * part.spent_s / whole_s >= _NARROWEST}
    yield from (part for part in parts if id(part) in wide)
    narrow = [part for part in parts if id(part) not in wide]
    spent_s = sum(part.spent_s for part in narrow)
    if spent_s > 0:
        yield _Part(narrow[0].label if len(narrow) == 1 else f"{len(narrow)} others", spent_s)


def title(box: Box) -> str:
    return f"{box.label}: {seconds(box.spent_s)}"
