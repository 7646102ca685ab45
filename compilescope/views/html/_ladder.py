"""The planner's pictures: cost by number of rungs and the cost curve, each with its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from compilescope.units import count
from compilescope.views.html._plot import Mark, line_chart

if TYPE_CHECKING:
    from compilescope.analysis.report_ladder import Ladder, LadderCost, LadderCount

MAX_LADDERS = 8


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the same as a table: heads and rows of text."""

    name: str
    chart: Markup
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Planned:
    ladder: Ladder
    verdict: str
    figures: list[Figure]


def planned(ladders: Sequence[Ladder]) -> list[Planned]:
    return [Planned(ladder, _verdict(ladder), list(_figures(ladder))) for ladder in ladders[:MAX_LADDERS]]


def _verdict(ladder: Ladder) -> str:
    if ladder.pays is False:
        calls = ladder.pays_from_calls
        later = "" if calls is None else f"; one would from {calls:,.0f} calls"
        return f"No rung pays{later}: one dynamic artifact costs least."
    side = "below" if ladder.excess < 0 else "above"
    excess, padding = percent(abs(ladder.excess)), percent(ladder.padding)
    return f"{count(ladder.rungs, 'rung')}: {excess} {side} one artifact a size, {padding} padding."


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def cost(value: float, unit: str) -> str:
    return f"{value:,.1f} {unit}"


def _figures(ladder: Ladder) -> Iterator[Figure]:
    if len(ladder.by_count) > 1:
        yield _by_count(ladder.by_count, ladder.unit)
    measured = [point for point in ladder.curve if point.measured]
    if measured:
        yield _curve(ladder.curve, ladder.unit)


def _by_count(counts: Sequence[LadderCount], unit: str) -> Figure:
    marks = [
        Mark((each.rungs, each.cost), "chosen" if each.chosen else "point", _choice(each, unit))
        for each in counts
    ]
    chosen = " and ".join(_choice(each, unit) for each in counts if each.chosen) or "none"
    chart = line_chart(
        [mark.at for mark in marks],
        marks,
        x_label="rungs",
        y_label=f"cost of a call ({unit})",
        describe=f"Cost of a call against number of rungs. Chosen: {chosen}.",
    )
    rows = [
        (str(c.rungs), cost(c.cost, unit), cost(c.total, unit), "chosen" if c.chosen else "") for c in counts
    ]
    heads = ("Rungs", "Cost of a call", "With the price of the rungs", "Chosen")
    return Figure("Cost by number of rungs, on the half planned on", chart, heads, rows)


def _choice(each: LadderCount, unit: str) -> str:
    return f"{count(each.rungs, 'rung')}, {cost(each.cost, unit)}"


def _curve(points: Sequence[LadderCost], unit: str) -> Figure:
    static = sorted((p for p in points if p.artifact == "static"), key=lambda p: p.size)
    marks = [
        Mark((p.size, p.cost), "chosen" if p.artifact == "static" else "point",
             f"{p.artifact}, size {p.size:,}: {cost(p.cost, unit)}", p.low, p.high)
        for p in points
        if p.measured
    ]  # fmt: skip
    chart = line_chart(
        [(p.size, p.cost) for p in static],
        marks,
        x_label="size",
        y_label=f"cost of a call ({unit})",
        describe=f"Cost of a call by size: {count(len(marks), 'measured point')} with intervals.",
    )
    rows = [
        (p.artifact, f"{p.size:,}", cost(p.cost, unit), f"{p.low:,.1f} to {p.high:,.1f}",
         "measured" if p.measured else "assumed")
        for p in points
    ]  # fmt: skip
    heads = ("Artifact", "Size", "Cost of a call", "Interval", "Basis")
    return Figure("Cost by size, measured points marked", chart, heads, rows)
