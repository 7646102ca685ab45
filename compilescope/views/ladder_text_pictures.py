"""Pictures of a planned ladder in characters: cost of a call by size, and by number of rungs."""

from __future__ import annotations

import numpy as np

from compilescope.ladder.planner import Curve, Study
from compilescope.ladder.planner.serve import static_sizes

_ROWS = 8
_LABEL = 10
_MOST_COUNTS = 12


def cost_text(cost: float, unit: str) -> str:
    """Four figures, at most nine characters: 228.7 us, 40.67 ms, or elements: 443.3, 1,048,576."""
    if unit != "us":
        return f"{cost:,.1f}" if cost < 1e5 else f"{cost:,.0f}" if cost < 1e7 else f"{cost:.3e}"
    for limit, scale, name in ((1e3, 1.0, "us"), (1e6, 1e3, "ms")):
        if cost < limit * 0.99995:
            return f"{_four(cost / scale)} {name}"
    return f"{_four(cost / 1e6)} s"


def _four(value: float) -> str:
    return f"{value:.{max(0, 4 - len(str(int(value))))}f}"


def curve(study: Study, width: int) -> list[str]:
    """Static cost over size: ``o`` measured, ``.`` the curve between, ``x`` measured of a dynamic artifact,
    ``^`` below the axis a static rung. Nothing for two symbols, or where nothing was measured.
    """
    static, dynamic = study.costs.static, [each.model for each in study.costs.dynamic]
    if not isinstance(static, Curve) or len(static.points) < 2:
        return []
    cells = max(width - _LABEL - 3, 20)
    sizes = study.traffic.sizes[:, 0]
    rungs = static_sizes(study.plan.chosen.ladder)  # type: ignore[arg-type]
    measured = [point.size for point in static.points]
    lowest, highest = min(int(sizes.min()), *measured), max(int(sizes.max()), *measured, *rungs)
    drawn = np.unique(np.linspace(lowest, highest, cells).astype(np.int64))
    marks = [(int(size), float(cost), ".") for size, cost in zip(drawn, static.at(drawn), strict=True)]
    for model in dynamic:
        marks += [(point.size, point.cost, "x") for point in model.points if isinstance(point.size, int)]  # type: ignore[union-attr]
    marks += [(point.size, point.cost, "o") for point in static.points]
    top = max(cost for _, cost, _ in marks)
    grid = [[" "] * cells for _ in range(_ROWS)]
    for size, cost, mark in marks:
        row = min(int((1 - cost / top) * _ROWS), _ROWS - 1)
        grid[row][_column(size, lowest, highest, cells)] = mark
    what = "" if study.costs.unit == "us" else ", in elements"
    lines = [f"Cost of a call by size{what} (o static, x dynamic: measured; ^ rung)"]
    for number, line in enumerate(grid):
        label = cost_text(top * (1 - number / _ROWS), study.costs.unit) if number % 3 == 0 else ""
        lines.append(f"{label:>{_LABEL}} |{''.join(line)}")
    foot = [" "] * cells
    for rung in rungs:
        foot[_column(rung, lowest, highest, cells)] = "^"
    return [*lines, f"{'':>{_LABEL}} +{'-' * cells}", f"{'':>{_LABEL}}  {''.join(foot)}",
            f"{'':>{_LABEL}}  {lowest}{highest:>{cells - len(str(lowest))}}"]  # fmt: skip


def counts(study: Study, width: int, block: str) -> list[str]:
    """The best ladder of each number of rungs, on the half planned for: a bar each."""
    choices = study.plan.by_count
    if len(choices) < 2:
        return []
    step = -(-len(choices) // _MOST_COUNTS)
    shown = [c for number, c in enumerate(choices) if number % step == 0 or c is study.plan.chosen]
    most, room = max(choice.cost for choice in shown), max(width - 30, 8)
    lines = ["Cost of a call by number of rungs, on the half planned on (* chosen)"]
    for choice in shown:
        star = "*" if choice is study.plan.chosen else " "
        length = max(round(choice.cost / most * room), 1)
        lines.append(
            f"{choice.rungs:>5}{star} {block * length:<{room}} {cost_text(choice.cost, study.costs.unit):>10}"
        )
    return lines


def _column(size: int, lowest: int, highest: int, cells: int) -> int:
    return min(round((size - lowest) / max(highest - lowest, 1) * (cells - 1)), cells - 1)
